// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/comparison_metrics.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ecokv::session {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Logits of probabilities, moved by a constant that must not matter.
std::vector<float> logitsOf(const std::vector<double>& probabilities, double shift = 0) {
    std::vector<float> logits;
    for (const double p : probabilities) {
        logits.push_back(static_cast<float>(std::log(p) + shift));
    }
    return logits;
}

} // namespace

TEST(ComparisonMetrics, klOfTwoHandWorkedDistributions) {
    // 1/2 log(2) + 1/4 log(1) + 1/4 log(1/2) = 1/4 log 2
    const auto full = logitsOf({0.5, 0.25, 0.25}), kept = logitsOf({0.25, 0.25, 0.5}, 7.0);
    EXPECT_NEAR(klDivergence(full, kept), 0.25 * std::log(2.0), 1e-6);
    EXPECT_NEAR(klDivergence(kept, full), 0.25 * std::log(2.0), 1e-6);
    // 0.9 log(0.9 / 0.1) + 0.1 log(0.1 / 0.9) = 0.8 log 9
    EXPECT_NEAR(klDivergence(logitsOf({0.9, 0.1}), logitsOf({0.1, 0.9})), 0.8 * std::log(9.0),
                1e-6);
    EXPECT_EQ(klDivergence(full, full), 0.0);
}

TEST(ComparisonMetrics, klStaysExactForLogitsThatOverflowSinglePrecision) {
    // exp(200) is infinite in float32: log-sum-exp subtracts the top first.
    const std::vector<float> full{200.0F, 199.0F}, kept{-300.0F, -300.0F};
    const double p = 1 / (1 + std::exp(-1.0));
    const double expected = p * std::log(2 * p) + (1 - p) * std::log(2 * (1 - p));
    EXPECT_NEAR(klDivergence(full, kept), expected, 1e-12);
    EXPECT_NEAR(logSumExp(kept), -300 + std::log(2.0), 1e-12);
}

TEST(ComparisonMetrics, tokensTheFullCacheRulesOutDoNotCount) {
    const std::vector<float> full{0.0F, -kInfinity}, kept{0.0F, -kInfinity};
    EXPECT_EQ(klDivergence(full, kept), 0.0);
    EXPECT_THROW(klDivergence(full, std::vector<float>{0.0F}), Error);
}

TEST(ComparisonMetrics, theGreedyChoiceIsTheSamplers) {
    EXPECT_EQ(topToken(std::vector<float>{1.0F, 3.0F, 3.0F}), 1); // ties to the lower id
    EXPECT_EQ(topToken(std::vector<float>{kNaN, -5.0F, kNaN}), 1);
    EXPECT_EQ(topToken(std::vector<float>{-kInfinity, -kInfinity}), 0);
}

TEST(ComparisonMetrics, meansLeaveOutTheStepThatThePrefillDecides) {
    ForcedSteps steps;
    steps.kl = {0.0F, 0.5F, 1.0F};
    steps.top1Agree = {1, 1, 0};
    steps.logprob = {-1.0F, -2.0F, -4.0F};
    const std::vector<float> full{-1.0F, -1.0F, -1.0F};
    const ForcedSummary summary = summarise(steps, full);
    EXPECT_NEAR(*summary.meanKl, 0.75, 1e-12);
    EXPECT_NEAR(*summary.top1Agreement, 0.5, 1e-12);
    EXPECT_NEAR(*summary.perplexityRatio, std::exp((1.0 + 3.0) / 2), 1e-12);
}

TEST(ComparisonMetrics, anAnswerOfOneTokenSaysNothingAboutThePolicy) {
    const ForcedSummary summary = summarise({{0.0F}, {1}, {-1.0F}, {5}}, std::vector<float>{-1.0F});
    EXPECT_FALSE(summary.meanKl);
    EXPECT_FALSE(summary.top1Agreement);
    EXPECT_FALSE(summary.perplexityRatio);
}

} // namespace ecokv::session
