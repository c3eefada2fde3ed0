// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/importance_relation.h"
#include "analysis/mutual_information.h"
#include "base/error.h"
#include "support/sample_trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace ecokv::analysis {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// `count` times the pair (a, b).
void addPairs(std::vector<float>& x, std::vector<float>& y, int count, float a, float b) {
    x.insert(x.end(), static_cast<std::size_t>(count), a);
    y.insert(y.end(), static_cast<std::size_t>(count), b);
}

} // namespace

// Two bits through a channel that flips one in five: ln 2 - H(0.2), minus the bias 1 / 200.
TEST(MutualInformation, ofABinaryChannelIsItsCapacity) {
    std::vector<float> x, y;
    addPairs(x, y, 40, 0, 0);
    addPairs(x, y, 10, 0, 1);
    addPairs(x, y, 10, 1, 0);
    addPairs(x, y, 40, 1, 1);
    const double entropy = -0.2 * std::log(0.2) - 0.8 * std::log(0.8);
    EXPECT_NEAR(mutualInformation(x, y, 2), std::log(2.0) - entropy - 0.005, 1e-12);
}

TEST(MutualInformation, ofAFunctionIsTheEntropyOfItsBins) {
    std::vector<float> x, y;
    for (int i = 0; i < 120; ++i) {
        x.push_back(static_cast<float>(i));
        y.push_back(std::exp(-0.1F * static_cast<float>(i))); // falling: the sign does not matter
    }
    EXPECT_NEAR(mutualInformation(x, y, 6), std::log(6.0) + 5.0 / 240, 1e-12);
}

TEST(MutualInformation, ofAnExactProductIsZero) {
    std::vector<float> x, y;
    for (int i = 0; i < 100; ++i) {
        x.push_back(static_cast<float>(i % 10));
        y.push_back(static_cast<float>(i / 10));
    }
    EXPECT_EQ(mutualInformation(x, y, 5), 0.0);
}

// Without the correction 1000 independent pairs in 14 bins would have 0.09 nats.
TEST(MutualInformation, ofIndependentSamplesIsNearZeroOnceCorrected) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    double sum = 0;
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::vector<float> x(1000), y(1000);
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = normal(random);
            y[i] = normal(random);
        }
        sum += mutualInformation(x, y);
    }
    EXPECT_LT(sum / 20, 0.01);
}

// numpy and scipy.stats.rankdata 1.17.1 with the same definition.
TEST(MutualInformation, agreesWithNumpy) {
    std::vector<float> x, y;
    for (int i = 0; i < 101; ++i) {
        const int a = i * 37 % 101;
        x.push_back(static_cast<float>(a));
        y.push_back(static_cast<float>(a * a % 53));
    }
    EXPECT_EQ(defaultBins(101), 4);
    EXPECT_NEAR(mutualInformation(x, y), 0.0015965922460368515, 1e-12);
}

TEST(MutualInformation, binsHoldEquallyManyAndTiesStayTogether) {
    const std::vector<float> values{5, 1, 1, 1, 7, 9};
    EXPECT_EQ(equalFrequencyBins(values, 3), (std::vector<int>{1, 0, 0, 0, 2, 2}));
    EXPECT_EQ(defaultBins(2), 2);
    EXPECT_EQ(defaultBins(100000), 16);
}

TEST(MutualInformation, ofAConstantIsZeroAndOfNothingUndefined) {
    const std::vector<float> constant(30, 2.0F);
    std::vector<float> x(30);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(i);
    }
    EXPECT_EQ(mutualInformation(x, constant), 0.0);
    EXPECT_TRUE(std::isnan(mutualInformation({}, {})));
    EXPECT_THROW(mutualInformation(x, std::vector<float>{1}), Error);
}

TEST(ImportanceRelation, leavesProtectedTokensOutAndSeesOrderAndItsReverse) {
    std::vector<float> importance, same, reversed;
    for (int i = 0; i < 40; ++i) {
        importance.push_back(static_cast<float>(i * 7 % 40));
        same.push_back(importance.back() * importance.back());
        reversed.push_back(-importance.back());
    }
    importance.push_back(kNaN);
    same.push_back(kNaN);
    reversed.push_back(kNaN);
    const auto relation = importanceRelation({importance, same, reversed, same});
    EXPECT_EQ(relation.candidates, 40);
    EXPECT_DOUBLE_EQ(relation.cosine.spearman, 1);
    EXPECT_DOUBLE_EQ(relation.euclid.spearman, -1);
    EXPECT_DOUBLE_EQ(relation.rankDisagreement, 2); // the two diversities are reversed
    EXPECT_NEAR(relation.cosine.mutualInformation, relation.euclid.mutualInformation, 1e-12);
    EXPECT_GT(relation.cosine.mutualInformation, 0.6);
}

TEST(ImportanceRelation, readsTheRecordedScoresOfEveryHead) {
    const test::TemporaryFolder folder;
    const trace::TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5"));
    std::vector<std::string> notes;
    const auto relations = importanceRelations(reader, notes);
    EXPECT_TRUE(notes.empty());
    ASSERT_EQ(relations.size(), 8U);
    EXPECT_EQ(relations[5].layer, 2);
    EXPECT_EQ(relations[5].kvHead, 1);
    EXPECT_EQ(relations[5].candidates, 26);
    EXPECT_NEAR(relations[5].composite.spearman, -0.10017094017094016, 1e-12); // scipy
    EXPECT_NEAR(relations[5].rankDisagreement, 0, 1e-12); // each a rising function of the other
}

TEST(ImportanceRelation, ofAnUnfinishedRunHasTheLayersItWrote) {
    const test::TemporaryFolder folder;
    test::SampleOptions options;
    options.layersWritten = 2;
    const trace::TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5", options));
    std::vector<std::string> notes;
    EXPECT_EQ(importanceRelations(reader, notes).size(), 4U);
    EXPECT_TRUE(notes.empty()) << "what was never written is no damage";
}

} // namespace ecokv::analysis
