// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/composite_score.h"

#include "kernels/instruction_sets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace ecokv::kernels {

namespace {

/// Inputs and outputs of one call; `run` fills the outputs.
struct Scores {
    std::int64_t heads = 1, tokens = 0, stride = 0;
    std::vector<float> attention, cosine, euclid, valueNorm;
    std::vector<double> redundancy{0.5}, meanSquaredNorm{1.0};
    std::vector<float> importance, byCosine, byEuclid, diversity, score;
    std::vector<std::uint8_t> constant;

    Status run(const CompositeScoreParams& params, Backend backend) {
        const auto size = static_cast<std::size_t>(heads * tokens);
        for (auto* array : {&importance, &byCosine, &byEuclid, &diversity, &score}) {
            array->assign(size, -77.0F);
        }
        constant.assign(static_cast<std::size_t>(3 * heads), 9);
        CompositeScoreInput input;
        input.kvHeads = heads;
        input.tokens = tokens;
        input.rowStride = std::max(stride, tokens);
        input.attention = attention.data();
        input.cosine = cosine.data();
        input.euclid = euclid.data();
        input.valueNorm = valueNorm.empty() ? nullptr : valueNorm.data();
        input.redundancy = redundancy.data();
        input.meanSquaredNorm = meanSquaredNorm.data();
        return compositeScore(input, params,
                              {importance.data(), byCosine.data(), byEuclid.data(),
                               diversity.data(), score.data(), constant.data()},
                              backend);
    }
};

Scores tokens(std::vector<float> attention, std::vector<float> cosine, std::vector<float> euclid) {
    Scores scores;
    scores.tokens = static_cast<std::int64_t>(attention.size());
    scores.attention = std::move(attention);
    scores.cosine = std::move(cosine);
    scores.euclid = std::move(euclid);
    return scores;
}

void expectRow(const std::vector<float>& actual, const std::vector<double>& wanted) {
    ASSERT_EQ(actual.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_NEAR(actual[i], wanted[i], 2e-7) << "token " << i;
    }
}

CompositeScoreParams unpooled() {
    CompositeScoreParams params;
    params.poolKernel = 1;
    return params;
}

class CompositeScore : public testing::TestWithParam<Backend> {};

} // namespace

TEST_P(CompositeScore, threeTokensWorkedByHand) {
    Scores scores = tokens({0.2F, 0.3F, 0.1F}, {0.5F, 0.25F, 0.0F}, {1, 2, 5});
    scores.redundancy = {0.25};
    CompositeScoreParams params = unpooled();
    params.alpha = 0.6F;
    ASSERT_EQ(scores.run(params, GetParam()), Status::Ok);
    expectRow(scores.byCosine, {0, 0.5, 1});
    expectRow(scores.byEuclid, {0, 0.25, 1});
    expectRow(scores.diversity, {0, 0.4, 1});
    // mean(imp) / mean(d) = 0.2 / (1.4 / 3)
    const double exchange = 0.2 * 3 / 1.4;
    expectRow(scores.score, {0.15, 0.225 + 0.1 * exchange, 0.075 + 0.25 * exchange});
}

TEST_P(CompositeScore, intrinsicTermHasTheMeanOfTheAttention) {
    Scores scores = tokens({0.2F, 0.3F, 0.1F}, {0, 0, 0}, {0, 0, 0});
    scores.valueNorm = {3, 1, 2}; // minmax 1, 0, 0.5: mean 0.5 becomes 0.2
    CompositeScoreParams params = unpooled();
    params.addValueNorm = true;
    ASSERT_EQ(scores.run(params, GetParam()), Status::Ok);
    expectRow(scores.importance, {0.2 + 0.4, 0.3, 0.1 + 0.2});
    EXPECT_EQ(scores.constant, (std::vector<std::uint8_t>{1, 1, 0}));
}

TEST_P(CompositeScore, constantVectorsContributeNothingAndAreNoted) { // F021
    Scores scores = tokens(std::vector<float>(12, 0.1F), std::vector<float>(12, 0.9F),
                           std::vector<float>(12, 3.0F));
    scores.valueNorm.assign(12, 2.0F);
    CompositeScoreParams params;
    params.addValueNorm = true;
    ASSERT_EQ(scores.run(params, GetParam()), Status::Ok);
    EXPECT_EQ(scores.constant, (std::vector<std::uint8_t>{1, 1, 1}));
    EXPECT_EQ(scores.diversity, std::vector<float>(12, 0.0F));
    for (const float score : scores.score) {
        EXPECT_NEAR(score, 0.05, 1e-7); // (1 - r) imp, second term 0
    }
}

TEST_P(CompositeScore, roundingNoiseCountsAsConstant) {
    Scores scores = tokens({0.1F, 0.2F}, {0.9F, 0.9F + 5e-7F}, {0.001F, 0.003F});
    scores.valueNorm = {1000.0F, 1000.0005F};
    CompositeScoreParams params = unpooled();
    params.addValueNorm = true;
    scores.meanSquaredNorm = {1.0}; // max e^2 = 9e-6 <= 1e-5 m2
    ASSERT_EQ(scores.run(params, GetParam()), Status::Ok);
    EXPECT_EQ(scores.constant, (std::vector<std::uint8_t>{1, 1, 1}));
    scores.meanSquaredNorm = {0.8}; // now it is above
    scores.cosine[1] = 0.9F + 3e-6F;
    scores.valueNorm[1] = 1000.01F;
    ASSERT_EQ(scores.run(params, GetParam()), Status::Ok);
    EXPECT_EQ(scores.constant, (std::vector<std::uint8_t>{0, 0, 0}));
    expectRow(scores.byEuclid, {0, 1});
}

TEST_P(CompositeScore, equalDistancesOfTwoKeysAreNotStretched) {
    // |k1 - mean| = |k2 - mean| but for the last bit; e^2 is far above 1e-5 m2.
    Scores scores = tokens({0.1F, 0.2F}, {0.5F, 0.1F}, {1.0F, std::nextafter(1.0F, 2.0F)});
    ASSERT_EQ(scores.run(unpooled(), GetParam()), Status::Ok);
    EXPECT_EQ(scores.constant[1], 1);
    EXPECT_EQ(scores.byEuclid, std::vector<float>(2, 0.0F));
}

TEST_P(CompositeScore, averagePoolingHasARuleForTheEnds) { // F029
    Scores scores = tokens(std::vector<float>(10, 1.0F), std::vector<float>(10, 0.0F),
                           std::vector<float>(10, 0.0F));
    CompositeScoreParams params;
    ASSERT_EQ(scores.run(params, GetParam()), Status::Ok);
    expectRow(scores.importance, std::vector<double>(10, 1.0));
    params.poolMode = PoolMode::AveragePadded;
    ASSERT_EQ(scores.run(params, GetParam()), Status::Ok);
    expectRow(scores.importance, {0.6, 0.8, 1, 1, 1, 1, 1, 1, 0.8, 0.6});
    params.poolKernel = 4;
    EXPECT_EQ(scores.run(params, GetParam()), Status::BadShape);
    params.poolKernel = 0;
    EXPECT_EQ(scores.run(params, GetParam()), Status::BadShape);
}

TEST_P(CompositeScore, poolsByHandInEveryMode) {
    const std::vector<float> zeros(5, 0.0F);
    Scores scores = tokens({1, 2, 6, 0, 3}, zeros, zeros);
    CompositeScoreParams params;
    params.poolKernel = 3;
    ASSERT_EQ(scores.run(params, GetParam()), Status::Ok);
    expectRow(scores.importance, {1.5, 3, 8.0 / 3, 3, 1.5});
    params.poolMode = PoolMode::Max;
    ASSERT_EQ(scores.run(params, GetParam()), Status::Ok);
    expectRow(scores.importance, {2, 6, 6, 6, 3});
    params.poolKernel = 99; // longer than the row: covers all of it
    ASSERT_EQ(scores.run(params, GetParam()), Status::Ok);
    expectRow(scores.importance, {6, 6, 6, 6, 6});
    params.poolMode = PoolMode::Average;
    ASSERT_EQ(scores.run(params, GetParam()), Status::Ok);
    expectRow(scores.importance, {2.4, 2.4, 2.4, 2.4, 2.4});
}

TEST_P(CompositeScore, inputsThatAreNotFiniteNeverReachTheScores) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    Scores scores =
        tokens({0.2F, kNan, 0.1F, 0.3F}, {0.5F, 0.25F, kNan, 0.0F}, {1, 2, 3, kInfinity});
    scores.valueNorm = {1, -kInfinity, 2, kNan};
    scores.redundancy = {std::numeric_limits<double>::quiet_NaN()};
    CompositeScoreParams params = unpooled();
    params.addValueNorm = true;
    ASSERT_EQ(scores.run(params, GetParam()), Status::Ok);
    expectRow(scores.byCosine, {0, 0.5, 0, 1});
    expectRow(scores.byEuclid, {0, 0.5, 1, 0});
    expectRow(scores.importance, {0.2, 0, 0.1 + 0.6, 0.3}); // N: all of the mean on one token
    expectRow(scores.score, {0.2, 0, 0.7, 0.3});            // r counts as 0
}

TEST_P(CompositeScore, redundancyIsClampedToItsRange) {
    Scores scores = tokens({0.2F, 0.4F}, {0.5F, 0.0F}, {1, 2});
    scores.redundancy = {1.7};
    ASSERT_EQ(scores.run(unpooled(), GetParam()), Status::Ok);
    expectRow(scores.score, {0, 0.6}); // d = 0, 1: exchange 0.3 / 0.5
    scores.redundancy = {-0.2};
    ASSERT_EQ(scores.run(unpooled(), GetParam()), Status::Ok);
    expectRow(scores.score, {0.2, 0.4});
}

INSTANTIATE_TEST_SUITE_P(Host, CompositeScore, testing::Values(Backend::Reference, Backend::Cpu),
                         [](const auto& info) {
                             return info.param == Backend::Cpu ? "cpu" : "reference";
                         });

namespace {

/// Three heads of random tokens, rows of attention further apart than they are long.
Scores randomScores(std::int64_t count) {
    std::mt19937 generator(static_cast<unsigned>(count));
    std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
    Scores scores;
    scores.heads = 3;
    scores.tokens = count;
    scores.stride = count + 5;
    const auto fill = [&](std::vector<float>& array, std::int64_t size) {
        array.resize(static_cast<std::size_t>(size));
        for (float& value : array) {
            value = uniform(generator);
        }
    };
    fill(scores.attention, 3 * scores.stride);
    fill(scores.cosine, 3 * count);
    fill(scores.euclid, 3 * count);
    fill(scores.valueNorm, 3 * count);
    scores.redundancy = {0.0, 0.3, 0.95};
    scores.meanSquaredNorm = {1.0, 1.0, 1.0};
    return scores;
}

void expectSame(const Scores& actual, const Scores& wanted) {
    ASSERT_EQ(actual.constant, wanted.constant);
    for (std::size_t i = 0; i < wanted.score.size(); ++i) {
        ASSERT_NEAR(actual.importance[i], wanted.importance[i], 2e-6F * wanted.importance[i]) << i;
        ASSERT_NEAR(actual.byCosine[i], wanted.byCosine[i], 5e-7) << i;
        ASSERT_NEAR(actual.byEuclid[i], wanted.byEuclid[i], 5e-7) << i;
        ASSERT_NEAR(actual.diversity[i], wanted.diversity[i], 5e-7) << i;
        ASSERT_NEAR(actual.score[i], wanted.score[i], 2e-6F * wanted.score[i] + 1e-7F) << i;
    }
}

void expectAgreement(std::int64_t count, const CompositeScoreParams& params) {
    Scores wanted = randomScores(count);
    Scores actual = wanted;
    ASSERT_EQ(wanted.run(params, Backend::Reference), Status::Ok);
    test::forEachInstructionSet([&](const char* instructionSet) {
        SCOPED_TRACE(instructionSet);
        ASSERT_EQ(actual.run(params, Backend::Cpu), Status::Ok);
        expectSame(actual, wanted);
    });
}

} // namespace

TEST(CompositeScoreMatrix, cpuAgreesWithTheReference) {
    for (const std::int64_t count : {1, 2, 7, 33, 1000}) {
        for (const int kernel : {1, 3, 5, 13, 31}) {
            for (const PoolMode mode :
                 {PoolMode::Average, PoolMode::AveragePadded, PoolMode::Max}) {
                SCOPED_TRACE("tokens " + std::to_string(count) + " kernel " +
                             std::to_string(kernel));
                CompositeScoreParams params;
                params.alpha = 0.3F;
                params.poolKernel = kernel;
                params.poolMode = mode;
                params.addValueNorm = kernel != 3;
                expectAgreement(count, params);
            }
        }
    }
}

} // namespace ecokv::kernels
