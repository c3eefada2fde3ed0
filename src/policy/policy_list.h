#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Lists of policies as `ecokv run --compare` and `ecokv sweep` take them: every policy with every
// allocator and budget. Pure functions; any thread.

#include "policy/policy_config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::policy {

/// "full,ecokv:window=16,alpha=0.7,snapkv" to its policies. Names hold no '=', so that a part with
/// '=' and no ':' before it goes on with the options of the policy before. Throws Error{Usage}.
std::vector<std::string> splitPolicyList(const std::string& list);

struct PolicyGrid {
    std::vector<std::string> lists; ///< each as splitPolicyList reads it
    std::vector<std::int64_t> budgets;
    std::vector<std::string> allocators; ///< empty = that of the defaults
};

/// All combinations, each once, policies outermost, budgets innermost. What a policy's own options
/// say (`budget=`, `allocator=`) wins over the grid; policies that keep everything appear once.
/// Throws Error{Usage}: unknown names, budgets of the grid below 1, or a policy that needs a budget
/// and gets none.
std::vector<PolicyConfig> expandPolicies(const PolicyGrid& grid, const PolicyConfig& defaults = {});

} // namespace ecokv::policy
