// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/policy_config.h"

namespace ecokv::policy {

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
