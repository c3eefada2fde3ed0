#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Tokens per head at a step of a history, over all heads of all layers, as tests count them.

#include "session/run_result.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace ecokv::session {

inline std::vector<std::int64_t> lengthsAt(const CacheHistory& history, std::int64_t step) {
    const std::int64_t heads = history.layers * history.kvHeads;
    const auto first = history.keptLength.begin() + step * heads;
    return {first, first + heads};
}

inline std::int64_t longestHead(const CacheHistory& history, std::int64_t step) {
    return std::ranges::max(lengthsAt(history, step));
}

inline double meanLength(const CacheHistory& history, std::int64_t step) {
    const std::vector<std::int64_t> lengths = lengthsAt(history, step);
    return static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0})) /
           static_cast<double>(lengths.size());
}

} // namespace ecokv::session
