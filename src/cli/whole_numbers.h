#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers on the command line: what is none, or more than 64 bits hold, is refused with the option,
// what was given and what the option means; never cut to the largest number that fits.

#include <CLI/CLI.hpp>

namespace ecokv::cli {

/// Guards every option of `app` and its commands that takes numbers. The check throws Error{Usage}.
void checkNumbers(CLI::App& app);

} // namespace ecokv::cli
