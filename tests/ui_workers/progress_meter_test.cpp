// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workers/progress_meter.h"

#include <gtest/gtest.h>

namespace ecokv::ui {

TEST(ProgressMeter, estimatesFromTheSpeedOfTheStage) {
    ProgressMeter meter;
    meter.update({"Prefill", 0, 10, "layers"}, 100.0);
    const ProgressView view = meter.update({"Prefill", 4, 10, "layers"}, 102.0);
    EXPECT_EQ(view.percent, 40);
    EXPECT_DOUBLE_EQ(view.perSecond, 2.0);   // 4 layers in 2 s
    EXPECT_DOUBLE_EQ(view.secondsLeft, 3.0); // 6 layers at 2 per second
    EXPECT_EQ(view.sentence(), u"Prefill · 4 of 10 layers · 2 layers/s · 3.0 s left"_qs);
}

TEST(ProgressMeter, aNewStageStartsANewMeasurement) {
    ProgressMeter meter;
    meter.update({"Prefill", 0, 10, "layers"}, 0.0);
    meter.update({"Prefill", 10, 10, "layers"}, 50.0);
    const ProgressView start = meter.update({"Decoding", 0, 8, "tokens"}, 50.0);
    EXPECT_DOUBLE_EQ(start.perSecond, 0.0);
    const ProgressView later = meter.update({"Decoding", 2, 8, "tokens"}, 51.0);
    EXPECT_DOUBLE_EQ(later.perSecond, 2.0);
}

TEST(ProgressMeter, unknownTotalHasNoPercentAndNoEnd) {
    ProgressMeter meter;
    const ProgressView view = meter.update({"Loading", 3, 0, "bytes"}, 1.0);
    EXPECT_EQ(view.percent, -1);
    EXPECT_DOUBLE_EQ(view.secondsLeft, -1.0);
    EXPECT_EQ(view.sentence(), u"Loading · 3 bytes"_qs);
}

TEST(ProgressMeter, percentStaysInRange) {
    ProgressMeter meter;
    EXPECT_EQ(meter.update({"x", 12, 10, "y"}, 0.0).percent, 100);
}

} // namespace ecokv::ui
