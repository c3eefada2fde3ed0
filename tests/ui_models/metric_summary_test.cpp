// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/metric_summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace ecokv::ui {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(MetricSummary, ignoresMissingCellsF143) {
    const std::vector<float> values = {kNan, 4, 1, 2, 9};
    const MetricSummary summary = summarise(values);
    EXPECT_DOUBLE_EQ(summary.minimum, 1);
    EXPECT_EQ(summary.minimumIndex, 2);
    EXPECT_DOUBLE_EQ(summary.maximum, 9);
    EXPECT_EQ(summary.maximumIndex, 4);
    EXPECT_DOUBLE_EQ(summary.mean, 4);   // (4 + 1 + 2 + 9) / 4
    EXPECT_DOUBLE_EQ(summary.median, 3); // (2 + 4) / 2
    EXPECT_EQ(summary.finite, 4);
    EXPECT_EQ(summary.missing, 1);
}

TEST(MetricSummary, medianOfAnOddCountIsTheMiddle) {
    EXPECT_DOUBLE_EQ(summarise(std::vector<float>{3, 1, 2}).median, 2);
}

TEST(MetricSummary, withoutAnyValueEverythingIsNan) {
    const MetricSummary summary = summarise(std::vector<float>{kNan, kNan});
    EXPECT_TRUE(std::isnan(summary.minimum));
    EXPECT_TRUE(std::isnan(summary.mean));
    EXPECT_EQ(summary.minimumIndex, -1);
    EXPECT_EQ(summary.missing, 2);
}

} // namespace ecokv::ui
