// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/rank_correlation.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ecokv::analysis {

std::vector<double> averageRanks(std::span<const float> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    std::vector<double> ranks(values.size());
    for (std::size_t begin = 0; begin < order.size();) {
        std::size_t end = begin + 1;
        while (end < order.size() && values[order[end]] == values[order[begin]]) {
            ++end;
        }
        const double shared = 0.5 * static_cast<double>(begin + 1 + end);
        for (; begin < end; ++begin) {
            ranks[order[begin]] = shared;
        }
    }
    return ranks;
}

double spearman(std::span<const float> x, std::span<const float> y) {
    if (x.size() != y.size()) {
        throwInternal("Spearman's correlation needs as many x as y.");
    }
    const auto ranksX = averageRanks(x);
    const auto ranksY = averageRanks(y);
    const double mean = 0.5 * static_cast<double>(x.size() + 1); // of any ranks
    double xy = 0, xx = 0, yy = 0;
    for (std::size_t i = 0; i < ranksX.size(); ++i) {
        const double dx = ranksX[i] - mean, dy = ranksY[i] - mean;
        xy += dx * dy;
        xx += dx * dx;
        yy += dy * dy;
    }
    const bool defined = xx > 0 && yy > 0;
    return defined ? xy / std::sqrt(xx * yy) : std::numeric_limits<double>::quiet_NaN();
}

} // namespace ecokv::analysis
