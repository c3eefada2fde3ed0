#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The policies by name: score a layer, share the budget, plan the eviction. Pure functions of their
// input; nothing is kept between runs (field case F009).

#include "cache/eviction_plan.h"
#include "policy/layer_scores.h"
#include "policy/policy_config.h"

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

struct PolicyInfo {
    std::string name;
    std::string summary; ///< one sentence
    std::string formula;
    std::string source; ///< paper or project
    std::vector<PolicyParameter> parameters;
};

/// Every registered scorer, in the order of the documentation.
const std::vector<PolicyInfo>& policies();
/// Names of the registered allocators.
const std::vector<std::string>& allocators();

/// Scores one layer with the resolved policy. Statistics (diversity, redundancy, norms) are
/// measured for every policy, so that a trace shows them whatever was run; `score` is the policy's
/// own.
LayerScores scoreLayer(const LayerInput& input, const ResolvedPolicy& policy,
                       kernels::Backend backend);
/// The same from a layer measured before, for instance with another alpha.
LayerScores scoreLayer(const Measurement& measured, const ResolvedPolicy& policy);

/// Shares the budget over the heads of one layer and selects: sinks, recent and the best candidates
/// by score, ties to the lower position. Const; KvCache::apply carries it out.
cache::LayerPlan planLayer(const LayerScores& scores, const ResolvedPolicy& policy);

} // namespace ecokv::policy
