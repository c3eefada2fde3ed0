#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Layers that a model does not deliver, for they have no KV cache, in lists that have an entry for
// every layer. Pure functions.

#include "cache/eviction_plan.h"
#include "policy/policy_config.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace ecokv::session {

/// Plans of nothing up to, without, `layer`.
inline void fillGaps(std::vector<cache::LayerPlan>& plans, std::int32_t layer,
                     std::int32_t kvHeads) {
    while (static_cast<std::int32_t>(plans.size()) < layer) {
        const LayerId gap{static_cast<std::int32_t>(plans.size())};
        plans.push_back({gap,
                         std::vector<std::vector<std::int32_t>>(static_cast<std::size_t>(kvHeads)),
                         false});
    }
}

/// `perLayer` values of NaN for each layer up to, without, `layer`.
inline void fillGaps(std::vector<float>& values, std::int32_t layer, std::int32_t perLayer) {
    const auto wanted = static_cast<std::size_t>(layer) * static_cast<std::size_t>(perLayer);
    if (values.size() < wanted) {
        values.resize(wanted, std::numeric_limits<float>::quiet_NaN());
    }
}

/// The masks [layer, kvHead, token] of the layers that have a KV cache.
inline std::vector<std::uint8_t> ofCachedLayers(const std::vector<std::uint8_t>& kept,
                                                const policy::ResolvedPolicy& policy) {
    const policy::ModelShape& shape = policy.shape;
    const auto perLayer = static_cast<std::ptrdiff_t>(shape.kvHeads * policy.tokens);
    std::vector<std::uint8_t> cached;
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
        if (!shape.isLinear(layer)) {
            const auto first = kept.begin() + layer * perLayer;
            cached.insert(cached.end(), first, first + perLayer);
        }
    }
    return cached;
}

} // namespace ecokv::session
