// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/policy_config.h"

namespace ecokv::policy {

bool ModelShape::isSliding(std::int32_t layer) const {
    return static_cast<std::size_t>(layer) < slidingWindows.size() &&
           slidingWindows[static_cast<std::size_t>(layer)] > 0;
}

bool ModelShape::isLinear(std::int32_t layer) const {
    return static_cast<std::size_t>(layer) < linearLayers.size() &&
           linearLayers[static_cast<std::size_t>(layer)] != 0;
}

std::vector<std::int32_t> ModelShape::fullLayers() const {
    std::vector<std::int32_t> full;
    for (std::int32_t layer = 0; layer < layers; ++layer) {
        if (canEvict(layer)) {
            full.push_back(layer);
        }
    }
    return full;
}

} // namespace ecokv::policy
