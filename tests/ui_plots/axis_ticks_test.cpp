// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/axis_ticks.h"

#include <gtest/gtest.h>

#include <QLocale>

#include <cmath>

namespace ecokv::ui {

namespace {

std::vector<std::string> labelsOf(const std::vector<Tick>& ticks) {
    std::vector<std::string> labels;
    for (const Tick& tick : ticks) {
        labels.push_back(tick.label.toStdString());
    }
    return labels;
}

} // namespace

TEST(LinearTicks, areRoundNumbersInside) {
    EXPECT_EQ(labelsOf(linearTicks(0.17, 0.83, 4)),
              (std::vector<std::string>{"0.2", "0.4", "0.6", "0.8"}));
    EXPECT_EQ(labelsOf(linearTicks(0, 10, 5)),
              (std::vector<std::string>{"0", "2", "4", "6", "8", "10"}));
}

TEST(LinearTicks, includeBothEndsDespiteRounding) {
    const auto ticks = linearTicks(0, 0.3, 3); // 3 * 0.1 > 0.3 in binary
    ASSERT_EQ(ticks.size(), 4U);
    EXPECT_EQ(ticks.back().label, "0.3");
}

TEST(LinearTicks, writeZeroWithoutASignAndNegativesWithAMinus) {
    EXPECT_EQ(labelsOf(linearTicks(-0.4, 0.4, 4)),
              (std::vector<std::string>{"−0.4", "−0.2", "0.0", "0.2", "0.4"}));
}

TEST(LinearTicks, ofAConstantAreThatConstant) {
    const auto ticks = linearTicks(0.25, 0.25, 5);
    ASSERT_EQ(ticks.size(), 1U);
    EXPECT_EQ(ticks[0].label, "0.25");
}

TEST(LinearTicks, keepThePointInADecimalCommaLocale) { // F156
    const QLocale before;
    QLocale::setDefault(QLocale(QLocale::German, QLocale::Germany));
    const auto labels = labelsOf(linearTicks(0, 1, 2));
    QLocale::setDefault(before);
    EXPECT_EQ(labels, (std::vector<std::string>{"0.0", "0.5", "1.0"}));
}

TEST(LinearTicks, ofTinyRangesUseExponents) {
    for (const Tick& tick : linearTicks(0, 3e-7, 3)) {
        EXPECT_GE(tick.value, 0);
        EXPECT_LE(tick.value, 3.01e-7);
    }
    EXPECT_EQ(linearTicks(0, 3e-7, 3)[1].label, "1e−07");
}

TEST(IndexTicks, showEveryIndexIfThereIsRoom) {
    EXPECT_EQ(labelsOf(indexTicks(6, 10)),
              (std::vector<std::string>{"0", "1", "2", "3", "4", "5"}));
}

TEST(IndexTicks, stepByWholeNumbersAndStayInside) {
    const auto ticks = indexTicks(80, 20);
    ASSERT_EQ(ticks.size(), 20U);
    EXPECT_EQ(ticks[1].label, "4");
    EXPECT_EQ(ticks.back().value, 76);
    EXPECT_LE(indexTicks(126, 9).size(), 9U);
    EXPECT_TRUE(indexTicks(0, 5).empty());
}

TEST(LogTicks, areDecades) {
    const auto ticks = logTicks(-5.2, -1.8, 8);
    ASSERT_EQ(ticks.size(), 4U);
    EXPECT_EQ(labelsOf(ticks), (std::vector<std::string>{"10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²"}));
    EXPECT_DOUBLE_EQ(ticks[0].value, -5);
}

TEST(LogTicks, ofFewDecadesArePlainNumbers) {
    EXPECT_EQ(labelsOf(logTicks(-2, 1, 8)), (std::vector<std::string>{"0.01", "0.1", "1", "10"}));
}

TEST(LogTicks, splitASingleDecade) {
    const auto ticks = logTicks(0.1, 1.1, 8); // 1.26 .. 12.6
    EXPECT_EQ(labelsOf(ticks), (std::vector<std::string>{"2", "5", "10"}));
    EXPECT_NEAR(ticks[0].value, std::log10(2.0), 1e-12);
}

TEST(LogTicks, nameValuesEvenInsideOneStep) {
    for (const Tick& tick : logTicks(std::log10(2.1), std::log10(2.9), 8)) {
        EXPECT_NEAR(std::pow(10.0, tick.value), tick.label.toDouble(), 1e-9);
    }
}

} // namespace ecokv::ui
