// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/other_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <vector>

namespace ecokv::policy {

std::string otherLayersNote(const ModelShape& shape) {
    std::vector<std::int32_t> sliding, linear;
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
        if (shape.isLinear(layer)) {
            linear.push_back(layer);
        } else if (shape.isSliding(layer)) {
            sliding.push_back(layer);
        }
    }
    std::string note;
    const auto add = [&](const char* what, const std::vector<std::int32_t>& layers) {
        if (!layers.empty()) {
            note += fmt::format("{}{}: layer{} {}", note.empty() ? "" : "; ", what,
                                layers.size() > 1 ? "s" : "", fmt::join(layers, ", "));
        }
    };
    add("sliding, not evicted", sliding);
    add("no KV cache (linear attention)", linear);
    return note;
}

} // namespace ecokv::policy
