#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Whole numbers on the command line: what 64 bits cannot hold is refused, never cut to the largest
// number that fits.

#include <CLI/CLI.hpp>

namespace ecokv::cli {

/// Guards every option of `app` and its commands that takes whole numbers.
void refuseHugeNumbers(CLI::App& app);

} // namespace ecokv::cli
