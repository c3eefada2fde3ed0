// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/layer_kinds.h"

#include <algorithm>

namespace ecokv {

bool LayerKinds::isSliding(std::int64_t layer) const {
    return layer >= 0 && layer < std::ssize(slidingWindows) &&
           slidingWindows[static_cast<std::size_t>(layer)] > 0;
}

bool LayerKinds::isLinear(std::int64_t layer) const {
    return layer >= 0 && layer < std::ssize(linearLayers) &&
           linearLayers[static_cast<std::size_t>(layer)] != 0;
}

std::vector<bool> LayerKinds::counted(std::int64_t layers) const {
    std::vector<bool> evicted, cached;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        evicted.push_back(isEvicted(layer));
        cached.push_back(!isLinear(layer));
    }
    return std::ranges::find(evicted, true) != evicted.end() ? evicted : cached;
}

std::int64_t LayerKinds::countedLayers(std::int64_t layers) const {
    return std::ranges::count(counted(layers), true);
}

std::int64_t LayerKinds::slidingLeftOut(std::int64_t layers) const {
    const std::vector<bool> marks = counted(layers);
    std::int64_t out = 0;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        out += isSliding(layer) && !marks[static_cast<std::size_t>(layer)] ? 1 : 0;
    }
    return out;
}

} // namespace ecokv
