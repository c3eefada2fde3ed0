#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What an allocator is to this project: how the budget is shared over layers and heads, before any
// score is known or when a layer has been scored. Adding one means a file
// allocators/allocator_<name>.cpp and a line in allocators/allocator_registry.cpp. Stateless,
// thread-safe.

#include "policy/policy.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ecokv::policy {

struct Allocator {
    PolicyInfo info;
    /// Called by `resolve`: tokens per head [full layer, kvHead] that sum exactly to full layers *
    /// kvHeads * budget, each at least the protected tokens and 1, at most N; nothing where
    /// the shape is not known yet. Null: every head gets `budget`.
    std::vector<std::int64_t> (*shareModel)(const ResolvedPolicy& policy) = nullptr;
    /// Called by `planLayer`, see allocateLayer. Null: the budgets stay.
    std::vector<std::int64_t> (*shareLayer)(std::span<const HeadCandidates> heads,
                                            const PolicyConfig& config) = nullptr;
};

/// Throws Error{Usage} with the list of known names.
const Allocator& findAllocator(const std::string& name);

Allocator uniformAllocator();
Allocator pyramidAllocator();
Allocator adaptiveAllocator();
Allocator staticAllocator();

/// The least a head may keep: its protected tokens and never nothing (F001, F005).
std::int64_t smallestShare(const ResolvedPolicy& policy);

} // namespace ecokv::policy
