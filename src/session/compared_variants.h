#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The policies of a comparison, resolved for one prompt: which are measured, which are refused and
// why, and how much memory that takes. Tokens per KV head, bytes.

#include "cache/kv_cache.h"
#include "policy/policy.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ecokv::session {

struct Variant {
    policy::ResolvedPolicy policy;
    std::string refused; ///< a sentence; then `policy` holds the configuration only
    /// Null: refused, or everything is kept and the full cache serves.
    std::unique_ptr<cache::KvCache> cache;
    std::vector<cache::LayerPlan> plans;             ///< [layer], once its prefill is done
    std::vector<float> predictedError, retainedMass; ///< [layer, kvHead], growing with the prefill

    bool measured() const { return refused.empty(); }
};

/// Adds `full` first and `random` last, at every budget, where they are missing: a comparison
/// without its two ends says little. What was added is told in `notes`.
std::vector<policy::PolicyConfig> completeComparison(std::vector<policy::PolicyConfig> policies,
                                                     std::vector<std::string>& notes);

/// A policy that cannot run on this prompt becomes a refused variant (field case F031).
std::vector<Variant> resolveVariants(const std::vector<policy::PolicyConfig>& policies,
                                     std::int64_t tokens, const policy::ModelShape& shape);

/// The variant whose scores a trace records: the first `ecokv` that compresses, else the first that
/// compresses, else the first that is measured.
std::size_t recordedVariant(const std::vector<Variant>& variants);

/// Memory of caches and of what a continuation of `newTokens` tokens is compared by, as a sentence.
std::string memoryNote(const std::vector<Variant>& variants, const cache::CacheShape& shape,
                       std::int64_t newTokens, std::int64_t vocabulary);

} // namespace ecokv::session
