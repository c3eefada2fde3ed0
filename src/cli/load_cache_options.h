#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the options of `ecokv run` mean beside --load-cache: a context that was compressed before
// goes on with the policy that compressed it, and nothing of its reading can be changed any more.

#include "session/run_config.h"

#include <CLI/CLI.hpp>

namespace ecokv::cli {

/// Gives `config` the policy of its saved cache, which --decode-budget goes on with. Throws
/// Error{Usage} for options that contradict it or come too late, Error{BadInput} for the file.
void adoptSavedContext(const CLI::App& run, session::RunConfig& config);

} // namespace ecokv::cli
