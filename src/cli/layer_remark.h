#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What tables say behind a layer that is not evicted. Pure function.

#include "base/layer_kinds.h"

#include <string>

namespace ecokv::cli {

/// "sliding, not evicted", "no KV cache", or "" for a layer that is evicted.
inline std::string layerRemark(const LayerKinds& kinds, std::int64_t layer) {
    if (kinds.isLinear(layer)) {
        return "no KV cache";
    }
    return kinds.isSliding(layer) ? "sliding, not evicted" : "";
}

} // namespace ecokv::cli
