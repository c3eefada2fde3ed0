// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/run_result.h"

#include <algorithm>
#include <numeric>

namespace ecokv::session {

double CacheHistory::meanLength(std::int64_t step) const {
    const std::int64_t heads = layers * kvHeads;
    const auto first = keptLength.begin() + step * heads;
    // Every head holds at least the step's own token; those without a KV cache hold none.
    const auto caching = heads - std::count(first, first + heads, 0);
    return static_cast<double>(std::accumulate(first, first + heads, std::int64_t{0})) /
           static_cast<double>(std::max<std::int64_t>(caching, 1));
}

std::int64_t CacheHistory::longestHead(std::int64_t step) const {
    const auto first = keptLength.begin() + step * layers * kvHeads;
    return *std::max_element(first, first + layers * kvHeads);
}

std::uint64_t CacheHistory::peakBytes() const {
    return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

} // namespace ecokv::session
