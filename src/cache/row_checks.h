#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a cache refuses to take in or to keep. Each throws Error{Internal} naming the layer: a
// caller that passes such rows has a bug.

#include "cache/eviction_plan.h"
#include "cache/kv_cache.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace ecokv::cache {

/// `view` must be [kvHead, tokens, dim] of the cache's dtype and device; `what` names it.
void checkAppended(const CacheShape& shape, LayerId layer, const char* what, const TensorView& view,
                   std::int64_t tokens);
/// `rows` must be [count, dim] of the cache's dtype.
void checkRestored(const CacheShape& shape, LayerId layer, const TensorView& rows,
                   std::int64_t count);
/// `positions` must ascend from behind `last`.
void checkPositions(LayerId layer, std::int64_t last, std::span<const std::int64_t> positions);
/// The rows that `plan` keeps of a head must ascend within its `length`.
void checkKeptRows(const LayerPlan& plan, std::size_t head, std::int64_t length);

} // namespace ecokv::cache
