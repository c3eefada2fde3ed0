// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/matrix_stats.h"
#include "analysis/rank_correlation.h"
#include "base/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace ecokv::analysis {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const std::vector<float> kPi{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
const std::vector<float> kE{2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4};

} // namespace

// Expected values from scipy.stats 1.17.1: rankdata and spearmanr.
TEST(RankCorrelation, equalValuesShareTheirMeanRankAsInScipy) {
    EXPECT_EQ(averageRanks(kPi), (std::vector<double>{4.5, 1.5, 6, 1.5, 8, 11, 3, 10, 8, 4.5, 8}));
}

TEST(RankCorrelation, agreesWithScipyWithAndWithoutTies) {
    EXPECT_NEAR(spearman(kPi, kE), 0.1384567651467695, 1e-14);
    const std::vector<float> rising{1, 2, 3, 4, 5}, almost{5, 6, 7, 8, 7};
    EXPECT_NEAR(spearman(rising, almost), 0.8207826816681233, 1e-14);
}

TEST(RankCorrelation, isOneForAnyRisingFunctionAndMinusOneForAFallingOne) {
    std::vector<float> x, cube, falling;
    for (int i = -20; i <= 20; ++i) {
        x.push_back(static_cast<float>(i));
        cube.push_back(static_cast<float>(i * i * i));
        falling.push_back(std::exp(-0.5F * static_cast<float>(i)));
    }
    EXPECT_DOUBLE_EQ(spearman(x, cube), 1.0);
    EXPECT_DOUBLE_EQ(spearman(x, falling), -1.0);
}

TEST(RankCorrelation, isUndefinedForConstantOrTooFewValues) {
    EXPECT_TRUE(std::isnan(spearman(kPi, std::vector<float>(kPi.size(), 2.0F))));
    EXPECT_TRUE(std::isnan(spearman(std::vector<float>{1}, std::vector<float>{1})));
    EXPECT_TRUE(std::isnan(spearman({}, {})));
    EXPECT_THROW(spearman(kPi, std::vector<float>{1, 2}), Error);
}

TEST(FiniteRange, aNaNInTheFirstCellDoesNotHideTheRest) { // F143
    const std::vector<float> map{kNaN, 1, 2, 3, 4, 5, 6, 7, 8};
    const auto range = finiteRange(map);
    ASSERT_TRUE(range);
    EXPECT_EQ(range->min, 1.0F);
    EXPECT_EQ(range->max, 8.0F);
    EXPECT_EQ(range->count, 8U);
}

TEST(FiniteRange, infinitiesAreNoEndsAndTheSmallestPositiveIsKnown) { // F146
    const auto range = finiteRange(std::vector<float>{0, kInfinity, 1e-6F, 1, -kInfinity});
    ASSERT_TRUE(range);
    EXPECT_EQ(range->min, 0.0F);
    EXPECT_EQ(range->max, 1.0F);
    EXPECT_EQ(range->smallestPositive, 1e-6F);
}

TEST(FiniteRange, isAbsentWhenNothingIsFinite) {
    EXPECT_FALSE(finiteRange(std::vector<float>{kNaN, kInfinity}));
    EXPECT_FALSE(finiteRange({}));
}

} // namespace ecokv::analysis
