#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Fills the ledger from what a cache really holds. Bytes; tokens per KV head.

#include "cache/kv_cache.h"
#include "policy/policy_config.h"
#include "session/run_result.h"

namespace ecokv::session {

/// Bytes of keys and values of `tokens` tokens without eviction: 2 L Hkv T D size (field case
/// F038).
std::uint64_t fullCacheBytes(const cache::CacheShape& shape, std::int64_t tokens);

/// The same where layers that are evicted hold `kept` tokens and sliding ones `all`; linear ones
/// hold none.
std::uint64_t cacheBytes(const cache::CacheShape& shape, const LayerKinds& kinds, std::int64_t kept,
                         std::int64_t all);

Ledger makeLedger(const cache::KvCache& cache, const policy::ResolvedPolicy& policy);

} // namespace ecokv::session
