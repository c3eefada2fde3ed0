#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The plain summary of one head metric over all layers and KV heads. Pure function.

#include <span>

namespace ecokv::ui {

struct MetricSummary {
    double minimum = 0, maximum = 0, mean = 0, median = 0; ///< NaN without a finite value
    int minimumIndex = -1, maximumIndex = -1;              ///< into [layer, kvHead]
    int finite = 0, missing = 0;                           ///< cells
};

/// Over finite cells only (field case F143).
MetricSummary summarise(std::span<const float> values);

} // namespace ecokv::ui
