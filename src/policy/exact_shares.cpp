// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/exact_shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ecokv::policy {

namespace {

/// A share this close below a whole number is that number, and remainders this close are equal:
/// sums of products leave such dust.
constexpr double kDust = 1e-9;
/// A head of weight 0 stays last in line without ever blocking the exact sum.
constexpr double kLeastWeight = 1e-12;
constexpr int kHalvings = 200;

} // namespace

std::vector<std::int64_t> roundExactly(std::span<const double> shares,
                                       std::span<const ShareLimits> limits, std::int64_t total) {
    std::vector<std::int64_t> whole(shares.size());
    std::vector<double> remainder(shares.size()); // in units of kDust
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const double down = std::floor(shares[i] + kDust);
        whole[i] = std::clamp(static_cast<std::int64_t>(down), limits[i].low, limits[i].high);
        remainder[i] = std::round((shares[i] - static_cast<double>(whole[i])) / kDust);
        total -= whole[i];
    }
    std::vector<std::size_t> order(shares.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const int step = total > 0 ? 1 : -1;
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return step > 0 ? remainder[a] > remainder[b] : remainder[a] < remainder[b];
    });
    for (bool moved = true; total != 0 && moved;) {
        moved = false;
        for (const std::size_t i : order) {
            const std::int64_t next = whole[i] + step;
            if (total != 0 && next >= limits[i].low && next <= limits[i].high) {
                whole[i] = next;
                total -= step;
                moved = true;
            }
        }
    }
    return whole;
}

std::vector<std::int64_t> shareByWeight(std::span<const double> weights, std::int64_t base,
                                        std::span<const ShareLimits> limits, std::int64_t total) {
    const double most = *std::ranges::max_element(weights);
    std::vector<double> shares(weights.size());
    const auto fill = [&](double scale) { // grows with `scale`
        double sum = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const double weight = std::max(weights[i] / most, kLeastWeight);
            shares[i] =
                std::clamp(static_cast<double>(base) + scale * weight,
                           static_cast<double>(limits[i].low), static_cast<double>(limits[i].high));
            sum += shares[i];
        }
        return sum;
    };
    double low = 0;
    double high = (static_cast<double>(total) + 1) / kLeastWeight;
    for (int i = 0; i < kHalvings; ++i) {
        const double middle = (low + high) / 2;
        (fill(middle) < static_cast<double>(total) ? low : high) = middle;
    }
    fill(high);
    return roundExactly(shares, limits, total);
}

} // namespace ecokv::policy
