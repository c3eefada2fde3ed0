// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/mutual_information.h"

#include "analysis/rank_correlation.h"
#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ecokv::analysis {

namespace {

/// Entropy in nats of a histogram and how many of its bins are occupied.
struct Histogram {
    double entropy = 0;
    int occupied = 0;
};

Histogram histogramOf(const std::vector<std::int64_t>& counts, std::size_t total) {
    Histogram histogram;
    for (const std::int64_t count : counts) {
        if (count > 0) {
            const double share = static_cast<double>(count) / static_cast<double>(total);
            histogram.entropy -= share * std::log(share);
            ++histogram.occupied;
        }
    }
    return histogram;
}

} // namespace

int defaultBins(std::size_t count) {
    return std::clamp(static_cast<int>(std::sqrt(static_cast<double>(count) / 5)), 2, 16);
}

std::vector<int> equalFrequencyBins(std::span<const float> values, int bins) {
    const std::vector<double> ranks = averageRanks(values);
    std::vector<int> result(ranks.size());
    std::transform(ranks.begin(), ranks.end(), result.begin(), [&](double rank) {
        const double at = (rank - 0.5) * bins / static_cast<double>(ranks.size());
        return std::min(bins - 1, static_cast<int>(at));
    });
    return result;
}

double mutualInformation(std::span<const float> x, std::span<const float> y, int bins) {
    if (x.size() != y.size()) {
        throwInternal("Mutual information needs as many x as y.");
    }
    if (x.size() < 2) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    bins = bins > 0 ? bins : defaultBins(x.size());
    const std::vector<int> binX = equalFrequencyBins(x, bins), binY = equalFrequencyBins(y, bins);
    const auto size = static_cast<std::size_t>(bins);
    std::vector<std::int64_t> countX(size), countY(size), countXY(size * size);
    for (std::size_t i = 0; i < binX.size(); ++i) {
        const auto a = static_cast<std::size_t>(binX[i]), b = static_cast<std::size_t>(binY[i]);
        ++countX[a];
        ++countY[b];
        ++countXY[a * size + b];
    }
    const Histogram ofX = histogramOf(countX, x.size()), ofY = histogramOf(countY, x.size());
    const Histogram ofBoth = histogramOf(countXY, x.size());
    const double correction =
        static_cast<double>(ofX.occupied + ofY.occupied - ofBoth.occupied - 1) /
        (2 * static_cast<double>(x.size()));
    return std::max(0.0, ofX.entropy + ofY.entropy - ofBoth.entropy + correction);
}

} // namespace ecokv::analysis
