// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/model.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace ecokv::model {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Sampler, greedyTakesTheHighestLogitAndTiesGoToTheLowerId) {
    Sampler sampler({});
    EXPECT_EQ(sampler.next({0.5F, 2.0F, -1.0F}), 1);
    EXPECT_EQ(sampler.next({3.0F, 7.0F, 7.0F, 7.0F}), 1);
}

TEST(Sampler, neverChoosesNan) {
    Sampler sampler({});
    EXPECT_EQ(sampler.next({kNan, -5.0F, kNan, -4.0F}), 3);
    EXPECT_THROW(sampler.next({kNan, kNan}), Error);
}

/// Relative frequencies of 20000 draws stay within four standard errors of the softmax.
TEST(Sampler, drawsFollowTheSoftmaxAtItsTemperature) {
    constexpr int kDraws = 20000;
    const std::vector<float> logits{1.0F, 0.0F, 2.0F};
    Sampler sampler({.temperature = 2.0, .seed = 7});
    std::array<int, 3> counts{};
    for (int i = 0; i < kDraws; ++i) {
        ++counts[static_cast<std::size_t>(sampler.next(logits))];
    }
    const double sum = std::exp(0.5) + 1.0 + std::exp(1.0);
    const std::array<double, 3> expected{std::exp(0.5) / sum, 1.0 / sum, std::exp(1.0) / sum};
    for (std::size_t i = 0; i < 3; ++i) {
        const double p = expected[i];
        EXPECT_NEAR(static_cast<double>(counts[i]) / kDraws, p,
                    4 * std::sqrt(p * (1 - p) / kDraws));
    }
}

TEST(Sampler, topKLeavesOnlyTheBestKWithTiesToTheLowerId) {
    Sampler sampler({.temperature = 1.0, .topK = 2, .seed = 3});
    for (int i = 0; i < 500; ++i) {
        const TokenId id = sampler.next({1.0F, 5.0F, 1.0F, 1.0F});
        EXPECT_TRUE(id == 1 || id == 0) << id;
    }
}

/// Softmax .5 .3 .2: a nucleus of .5 is the first alone, one of .6 the first two.
TEST(Sampler, topPKeepsTheShortestHeadThatHoldsThatMuch) {
    const std::vector<float> logits{std::log(0.2F), std::log(0.5F), std::log(0.3F)};
    Sampler narrow({.temperature = 1.0, .topP = 0.49, .seed = 1});
    Sampler wide({.temperature = 1.0, .topP = 0.6, .seed = 1});
    int second = 0;
    for (int i = 0; i < 2000; ++i) {
        EXPECT_EQ(narrow.next(logits), 1);
        const TokenId id = wide.next(logits);
        EXPECT_NE(id, 0);
        second += id == 2 ? 1 : 0;
    }
    EXPECT_NEAR(second / 2000.0, 0.3 / 0.8, 0.045);
}

/// The first output of splitmix64 seeded with 0 is 0xe220a8397b1dcdaf (reference implementation),
/// so the first uniform number is .8833: the last of five equal tokens, number 8833 of 10000.
TEST(Sampler, firstDrawFollowsThePublishedGenerator) {
    Sampler sampler({.temperature = 1.0, .seed = 0});
    EXPECT_EQ(sampler.next({0.0F, 0.0F, 0.0F, 0.0F, 0.0F}), 4);
    Sampler finer({.temperature = 1.0, .seed = 0});
    EXPECT_EQ(finer.next(std::vector<float>(10000, 0.0F)), 8833);
}

TEST(Sampler, refusesImpossibleSettings) {
    EXPECT_THROW(Sampler({.temperature = -1.0}), Error);
    EXPECT_THROW(Sampler({.temperature = 1.0, .topP = 0.0}), Error);
    EXPECT_THROW(Sampler({.temperature = 1.0, .topK = -1}), Error);
}

} // namespace
} // namespace ecokv::model
