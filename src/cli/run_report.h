#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How a finished run is told: as one JSON object for programs, as a short ledger for people.

#include "session/run_result.h"

#include <string>

namespace ecokv::cli {

/// One line of JSON; fields as documented in README ("ecokv run --json").
std::string runResultJson(const session::RunResult& result);

/// Tokens and bytes kept per head, in all, and saved against the full cache.
std::string ledgerText(const session::Ledger& ledger);

/// What the cache held while it answered (field case F030); "" if nothing was answered.
std::string generationText(const session::RunResult& result);

/// "1.5 KB", decimal units.
std::string byteText(double bytes);

} // namespace ecokv::cli
