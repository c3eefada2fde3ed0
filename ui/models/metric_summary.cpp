// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/metric_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace ecokv::ui {

MetricSummary summarise(std::span<const float> values) {
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(values.size()); ++i) {
        if (std::isfinite(values[static_cast<std::size_t>(i)])) {
            order.push_back(i);
        }
    }
    MetricSummary summary;
    summary.finite = static_cast<int>(order.size());
    summary.missing = static_cast<int>(values.size() - order.size());
    if (order.empty()) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        summary.minimum = summary.maximum = summary.mean = summary.median = nan;
        return summary;
    }
    const auto value = [&](int i) {
        return static_cast<double>(values[static_cast<std::size_t>(i)]);
    };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return value(a) < value(b); });
    summary.minimumIndex = order.front();
    summary.maximumIndex = order.back();
    summary.minimum = value(order.front());
    summary.maximum = value(order.back());
    const double sum = std::accumulate(order.begin(), order.end(), 0.0,
                                       [&](double total, int i) { return total + value(i); });
    summary.mean = sum / static_cast<double>(order.size());
    const std::size_t middle = order.size() / 2;
    summary.median = order.size() % 2 == 1
                         ? value(order[middle])
                         : 0.5 * (value(order[middle - 1]) + value(order[middle]));
    return summary;
}

} // namespace ecokv::ui
