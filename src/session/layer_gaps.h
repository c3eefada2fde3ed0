#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Layers that a model does not deliver, for they have no KV cache, in lists that have an entry for
// every layer. Pure functions.

#include "cache/eviction_plan.h"

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

} // namespace ecokv::session
