#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The policies by name: score a layer, share the budget, plan the eviction. Pure functions of their
// input; nothing is kept between runs (field case F009).

#include "cache/eviction_plan.h"
#include "policy/layer_scores.h"
#include "policy/policy_config.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ecokv::policy {

class Measurement;

/// One option of a policy as `parsePolicy` reads it.
struct PolicyParameter {
    std::string name;
    std::string meaning;
    std::string defaultText; ///< "8", "min(32, floor(budget / 4))"
};

/// Which query rows a policy looks at.
enum class Observation : std::uint8_t {
    Nothing, ///< keys, values or positions only
    LastRow,
    Window,  ///< the last `window` rows
    AllRows, ///< every row of the prompt
};

/// A policy or an allocator as it is listed.
struct PolicyInfo {
    std::string name;
    std::string summary; ///< one sentence
    std::string formula;
    std::string source;                      ///< paper or project
    std::vector<PolicyParameter> parameters; ///< exactly those it reads
    Observation observes = Observation::Window;

    /// Scores that need the attention of every past row cannot be taken while decoding.
    bool runsAtDecode() const { return observes != Observation::AllRows; }
};

/// Every registered scorer, in the order of the documentation.
const std::vector<PolicyInfo>& policies();
/// Names of the registered allocators.
const std::vector<std::string>& allocators();
const std::vector<PolicyInfo>& allocatorInfos();
/// Options that every policy takes because they set how the statistics recorded beside any score
/// are measured.
std::vector<PolicyParameter> statisticsParameters();

/// Scores one layer with the resolved policy. Statistics (diversity, redundancy, norms) are
/// measured for every policy, so that a trace shows them whatever was run; `score` is the policy's
/// own.
LayerScores scoreLayer(const LayerInput& input, const ResolvedPolicy& policy,
                       kernels::Backend backend);
/// The same from a layer measured before, for instance with another alpha.
LayerScores scoreLayer(const Measurement& measured, const ResolvedPolicy& policy);

/// What one head has to offer when a layer's budget is shared.
struct HeadCandidates {
    std::span<const float> score; ///< [candidate]; heads may differ in length
    std::int64_t budget = 0;      ///< before sharing, protected tokens included
    std::int64_t protectedTokens = 0;
};

/// Tokens each head keeps, protected ones included: [head]. The sum is that of the budgets, or all
/// tokens where there are fewer. Allocators that do not look at scores leave the budgets as they
/// are, limited to the tokens of the head.
std::vector<std::int64_t> allocateLayer(std::span<const HeadCandidates> heads,
                                        const PolicyConfig& config);

/// Rows that stay of one head: everything outside `candidates` and the best of them by `score`
/// [candidate], ties to the lower position; `budget` rows in all, ascending. Protected tokens are
/// kept by index, never through a score that must win (F011).
std::vector<std::int32_t> selectRows(std::span<const float> score, TokenRange candidates,
                                     std::int64_t tokens, std::int64_t budget);

/// Shares the budget over the heads of one layer and selects: sinks, recent and the best candidates
/// by score, ties to the lower position. Const; KvCache::apply carries it out.
cache::LayerPlan planLayer(const LayerScores& scores, const ResolvedPolicy& policy);

} // namespace ecokv::policy
