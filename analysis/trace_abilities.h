#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a trace file is and what can be done with it: a file that opens is not yet one that answers.

#include "trace/trace_reader.h"

#include <string>
#include <vector>

namespace ecokv::analysis {

struct TraceAbility {
    std::string what; ///< "replay, sweep, diff"
    bool works = false;
    std::string detail; ///< "windows up to 64 rows", or what is missing
};

struct TraceNature {
    /// "a recorded run", "the results of a replay, without tensors", "a foreign trace: ...", ...
    std::string kind;
    std::vector<TraceAbility> abilities;
};

TraceNature describeTrace(const trace::TraceReader& reader);

} // namespace ecokv::analysis
