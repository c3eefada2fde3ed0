// SPDX-License-Identifier: GPL-3.0-or-later
// One case per policy, small enough to be worked by hand; the workings stand beside the numbers.
#include "layer_fixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace ecokv::policy {
namespace {

using test::Layer;
using test::LayerSize;
using test::Outcome;
using test::Rows;
using test::run;

constexpr float kTolerance = 1e-6F;

void expectScores(const std::vector<float>& actual, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(actual[i], expected[i], kTolerance) << "token " << i;
    }
    for (std::size_t i = expected.size(); i < actual.size(); ++i) {
        EXPECT_TRUE(std::isnan(actual[i])) << "protected token " << i;
    }
}

/// Two query heads over one KV head of 4 dimensions (scale 1/2): head 0 reads weights w from the
/// first dimension, head 1 weights v from the second, through keys that are logarithms.
Layer attentionLayer() {
    Layer layer({.kvHeads = 1, .group = 2, .tokens = 6, .rows = 2, .dim = 4});
    const std::vector<double> w = {1, 2, 3, 4, 10, 20};
    const std::vector<double> v = {8, 1, 1, 1, 4, 5};
    for (std::size_t token = 0; token < 6; ++token) {
        layer.keys[token * 4] = static_cast<float>(std::log(w[token]));
        layer.keys[token * 4 + 1] = static_cast<float>(std::log(v[token]));
    }
    for (const std::size_t row : {0U, 1U}) {
        layer.queries[row * 4] = 2;         // head 0
        layer.queries[8 + row * 4 + 1] = 2; // head 1
    }
    return layer;
}

// Row at position 4 sees w summing to 20, row at 5 to 40: A = w (1/20 + 1/40) / 2 = 9 w / 240.
// Head 1: sums 15 and 20, A = v (1/15 + 1/20) / 2 = 14 v / 240. Their mean, in 480ths:
// 9 w + 14 v = 121, 32, 41, 50.
TEST(HandWorked, snapkvIsTheMeanAttentionOfTheWindowRows) {
    Layer layer = attentionLayer();
    const Outcome plain = run(layer, "snapkv:budget=4,window=2,pool=1");
    expectScores(plain.scores.score, {121. / 480, 32. / 480, 41. / 480, 50. / 480});
    EXPECT_EQ(plain.plan.keptRows[0], (Rows{0, 3, 4, 5}));
}

TEST(HandWorked, snapkvPoolsOverTokenOrderAsItsCodeDoes) {
    Layer layer = attentionLayer();
    // Width 3, divided by 3 also at the ends: (121 + 32)/3, (121 + 32 + 41)/3, 123/3, (41 + 50)/3.
    const Outcome padded = run(layer, "snapkv:budget=4,window=2,pool=3");
    expectScores(padded.scores.score, {153. / 1440, 194. / 1440, 123. / 1440, 91. / 1440});
    EXPECT_EQ(padded.plan.keptRows[0], (Rows{0, 1, 4, 5}));
    // Covered positions only: 153/2 and 91/2 at the ends.
    const Outcome covered = run(layer, "snapkv:budget=5,window=2,pool=3,pool_mode=avg");
    expectScores(covered.scores.score, {153. / 960, 194. / 1440, 123. / 1440, 91. / 960});
    EXPECT_EQ(covered.plan.keptRows[0], (Rows{0, 1, 3, 4, 5}));
    const Outcome highest = run(layer, "snapkv:budget=4,window=2,pool=3,pool_mode=max");
    expectScores(highest.scores.score, {121. / 480, 121. / 480, 50. / 480, 50. / 480});
    EXPECT_EQ(highest.plan.keptRows[0], (Rows{0, 1, 4, 5}));
}

/// Keys (2,0) (1,0) (1,0) (0,1) and two recent ones; zero queries attend evenly:
/// A = (1/5 + 1/6) / 2 = 11/60 for every candidate.
Layer diversityLayer() {
    Layer layer({.kvHeads = 1, .group = 1, .tokens = 6, .rows = 2, .dim = 2});
    layer.keys = {2, 0, 1, 0, 1, 0, 0, 1, 9, 9, 9, 9};
    layer.values = {3, 0, 1, 0, 0, 2, 1, 0, 5, 0, 5, 0}; // norms 3 1 2 1
    return layer;
}

// mu = (.75, .25): c = .75 .75 .75 .25, d_cos = 0 0 0 1; M |mu|^2 = 2.5: r_cos = 1.5 / 3 = 1/2.
// kbar = (1, .25): e = sqrt(1.0625), .25, .25, 1.25, d_euc = e - .25; m2 = 7/4:
// r_euc = (4 * 1.0625 / 1.75 - 1) / 3 = 10/21. r = (1/2 + 10/21) / 2 = 41/84.
TEST(HandWorked, ecokvMixesBothDiversitiesByTheHeadsRedundancy) {
    Layer layer = diversityLayer();
    const Outcome outcome = run(layer, "ecokv:budget=4,window=2,recent=2,pool=1");
    const double first = std::sqrt(1.0625) - 0.25;
    EXPECT_NEAR(outcome.scores.redundancyCosine[0], 0.5, kTolerance);
    EXPECT_NEAR(outcome.scores.redundancyEuclid[0], 10.0 / 21, kTolerance);
    EXPECT_NEAR(outcome.scores.redundancy[0], 41.0 / 84, kTolerance);
    EXPECT_NEAR(outcome.scores.anisotropy[0], std::sqrt(0.625), kTolerance);
    EXPECT_NEAR(outcome.scores.meanKeyNorm[0], 1.25, kTolerance);
    expectScores(outcome.scores.diversityCosine, {0, 0, 0, 1});
    expectScores(outcome.scores.diversityEuclid, {first, 0, 0, 1});
    expectScores(outcome.scores.diversity, {first / 2, 0, 0, 1});
    expectScores(outcome.scores.importance, {11. / 60, 11. / 60, 11. / 60, 11. / 60});
    // s = (1 - r) A + r d A / mean(d), mean(d) = (first / 2 + 1) / 4
    expectScores(outcome.scores.score, {0.19434933276856442, 0.09384920634920635,
                                        0.09384920634920635, 0.3512855878663561});
    EXPECT_EQ(outcome.plan.keptRows[0], (Rows{0, 3, 4, 5}));
    // Tokens 1 and 2 tie: the lower position stays.
    EXPECT_EQ(run(layer, "ecokv:budget=5,window=2,recent=2,pool=1").plan.keptRows[0],
              (Rows{0, 1, 3, 4, 5}));
}

// N = minmax(3 1 2 1) = 1 0 .5 0, scaled to the mean of A: 8/3 0 4/3 0 times 11/60.
// s = (imp + d_cos mean(imp) / (1/4)) / 2 with mean(imp) = 2 * 11/60.
TEST(HandWorked, mixkvAddsValueNormsAndUsesTheCosineAlone) {
    Layer layer = diversityLayer();
    const Outcome outcome = run(layer, "mixkv:budget=4,window=2,pool=1");
    const double a = 11.0 / 60;
    expectScores(outcome.scores.importance, {a * 11 / 3, a, a * 7 / 3, a});
    expectScores(outcome.scores.score, {a * 11 / 6, a / 2, a * 7 / 6, a * 4.5});
    EXPECT_EQ(outcome.plan.keptRows[0], (Rows{0, 3, 4, 5}));
    EXPECT_EQ(run(layer, "mixkv:budget=5,window=2,pool=1").plan.keptRows[0], (Rows{0, 2, 3, 4, 5}));
}

TEST(HandWorked, streamingKeepsSinksAndTheEnd) {
    Layer layer = diversityLayer();
    EXPECT_EQ(run(layer, "streaming:budget=3,sink=1,window=2").plan.keptRows[0], (Rows{0, 4, 5}));
    EXPECT_EQ(run(layer, "streaming:budget=4,window=2").plan.keptRows[0], (Rows{2, 3, 4, 5}));
    EXPECT_EQ(run(layer, "streaming:budget=4,sink=1,recent=1,window=2").plan.keptRows[0],
              (Rows{0, 3, 4, 5}));
}

// Numbers from a Python program of SplitMix64 (whose first output for seed 0 is
// e220a8397b1dcdaf): u = mix(mix(mix(mix(seed) ^ layer) ^ head) ^ position) >> 40, over 2^24.
TEST(HandWorked, randomDrawsTheSameNumbersOnEveryPlatform) {
    Layer layer({.kvHeads = 2, .group = 1, .tokens = 6, .rows = 2, .dim = 2}, 2);
    const Outcome outcome = run(layer, "random:budget=2,seed=7,window=2");
    const std::vector<double> expected = {
        0.42574459314346313, 0.40671658515930176, 0.8196719288825989,  0.4803726077079773,
        0.7608710527420044,  0.7799748182296753,  0.12594497203826904, 0.8971536159515381,
        0.9578861594200134,  0.3652450442314148,  0.9878853559494019,  0.26352953910827637};
    expectScores(outcome.scores.score, expected);
    EXPECT_EQ(outcome.plan.keptRows[0], (Rows{2, 5}));
    EXPECT_EQ(outcome.plan.keptRows[1], (Rows{2, 4}));
    EXPECT_NE(run(layer, "random:budget=2,seed=8,window=2").scores.score, outcome.scores.score);
}

TEST(HandWorked, fullKeepsEveryRowAndShowsTheEcokvScore) {
    Layer layer = diversityLayer();
    const Outcome full = run(layer, "full:window=2,recent=2,pool=1");
    EXPECT_FALSE(full.plan.compressed);
    EXPECT_EQ(full.plan.keptRows[0], (Rows{0, 1, 2, 3, 4, 5}));
    EXPECT_NEAR(full.scores.score[3], 0.3512855878663561, kTolerance);
}

// F001: prompts of two tokens and of one keep a token under every policy that evicts; an empty
// cache would turn the next softmax into NaN.
TEST(HandWorked, theShortestPromptsKeepOneToken) {
    for (const std::string policy : {"random", "streaming", "snapkv", "mixkv", "ecokv"}) {
        for (const int tokens : {2, 1}) {
            Layer layer({.kvHeads = 2, .group = 1, .tokens = tokens, .rows = 1, .dim = 4});
            const Outcome outcome = run(layer, policy + ":budget=1,window=1");
            for (const Rows& kept : outcome.plan.keptRows) {
                EXPECT_EQ(kept.size(), 1U) << policy << " on " << tokens << " tokens";
            }
        }
    }
}

} // namespace
} // namespace ecokv::policy
