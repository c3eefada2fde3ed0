#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What an eviction will do to one layer, as a value: computed by a policy, applied by
// KvCache::apply.

#include "base/ids.h"

#include <cstdint>
#include <vector>

namespace ecokv::cache {

struct LayerPlan {
    LayerId layer;
    /// [kvHead][i]: rows of the layer's cache that stay, strictly ascending. Ragged across heads.
    std::vector<std::vector<std::int32_t>> keptRows;
    bool compressed = false; ///< false: every row stays ("not compressed")
};

} // namespace ecokv::cache
