#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A table over many policies and budgets, all replayed from one trace. What cannot be replayed
// (a budget below what a policy protects, a window beyond the recorded rows) is a row that says
// why, not the end of the table.

#include "analysis/replay.h"
#include "policy/policy_list.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::analysis {

struct SweepRequest {
    std::vector<policy::PolicyConfig> policies; ///< as policy::expandPolicies makes them
    bool outputError = true;                    ///< where the trace has values; the slowest column
    /// Window rows that every row's retained mass and output error are measured on; 0 = the largest
    /// window among the policies that the trace recorded enough rows for.
    std::int64_t rows = 0;
};

/// Over all KV heads of the layers that count (LayerKinds); NaN where there is nothing to say.
struct SweepRow {
    policy::PolicyConfig config;
    std::string refused;           ///< why there are no numbers, "" = there are
    policy::ResolvedPolicy policy; ///< of a row that was not refused
    std::int64_t rows = 0;         ///< window rows that mass and error are measured on
    double keptPerHead = 0;        ///< tokens
    double keptBytes = 0;          ///< keys and values of these heads
    double retainedMass = 0, worstMass = 0;
    double outputError = 0, worstError = 0;
    double imageShare = 0, textShare = 0; ///< of the image tokens, of all other tokens
    double redundancy = 0;
};

/// Tokens per KV head that the row asks for: its budget, or what its ratio came to; nothing where a
/// ratio was refused. 0 = everything.
std::optional<std::int64_t> budgetOf(const SweepRow& row);

/// Throws Error{Cancelled}; the first refusal if every row was refused.
std::vector<SweepRow> sweep(Replayer& replayer, const SweepRequest& request,
                            const ProgressSink& progress = {},
                            const CancellationToken& cancel = {});

/// A `#` line naming the trace, a header, one line per row:
/// policy,allocator,budget,settings,refused,window,recent,sink,tokens,rows,kept_per_head,kept_share,
/// kept_bytes,retained_mass,retained_mass_min,output_error,output_error_max,image_share,text_share,
/// redundancy,note
std::string sweepCsv(const trace::TraceReader& reader, const std::vector<SweepRow>& rows);

} // namespace ecokv::analysis
