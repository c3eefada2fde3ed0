#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A replay as text for people and as JSON. Pure functions.

#include "analysis/replay.h"

#include <string>

namespace ecokv::cli {

/// How the survivors of a replay compare with those that the trace recorded for the same settings.
struct Reproduction {
    std::string policyId; ///< "" = the trace holds no policy of these settings
    std::int64_t headsEqual = 0, heads = 0;
};

Reproduction compareWithRecorded(const trace::TraceReader& reader,
                                 const analysis::ReplayResult& replayed);

/// A table with a line per layer and the summary in words.
std::string replayText(const trace::TraceReader& reader, const analysis::ReplayResult& replayed,
                       const Reproduction& reproduction);

/// One JSON object: settings, per head numbers, positions kept.
std::string replayJson(const trace::TraceReader& reader, const analysis::ReplayResult& replayed,
                       const Reproduction& reproduction);

} // namespace ecokv::cli
