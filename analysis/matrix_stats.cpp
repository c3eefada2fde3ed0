// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/matrix_stats.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace ecokv::analysis {

std::optional<FiniteRange> finiteRange(std::span<const float> values) {
    FiniteRange range;
    for (const float value : values) {
        if (!std::isfinite(value)) {
            continue;
        }
        range.min = range.count == 0 ? value : std::min(range.min, value);
        range.max = range.count == 0 ? value : std::max(range.max, value);
        ++range.count;
        if (value > 0 && (range.smallestPositive == 0 || value < range.smallestPositive)) {
            range.smallestPositive = value;
        }
    }
    return range.count == 0 ? std::nullopt : std::optional(range);
}

std::vector<float> finiteOf(std::span<const float> values) {
    std::vector<float> finite;
    std::ranges::copy_if(values, std::back_inserter(finite),
                         [](float value) { return std::isfinite(value); });
    return finite;
}

} // namespace ecokv::analysis
