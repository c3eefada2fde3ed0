// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/top_k.h"

#include "kernels/instruction_sets.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <vector>

namespace ecokv::kernels {

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<std::int32_t> best(const std::vector<float>& scores, std::int64_t k, Backend backend) {
    std::vector<std::int32_t> kept(static_cast<std::size_t>(k), -1);
    EXPECT_EQ(
        topK(scores.data(), static_cast<std::int64_t>(scores.size()), k, kept.data(), backend),
        Status::Ok);
    return kept;
}

class TopK : public testing::TestWithParam<Backend> {};

using Indices = std::vector<std::int32_t>;

} // namespace

TEST_P(TopK, givesTheBestInAscendingOrder) {
    EXPECT_EQ(best({0.1F, 5, -2, 7, 3}, 3, GetParam()), (Indices{1, 3, 4}));
    EXPECT_EQ(best({-1, -3, -2}, 2, GetParam()), (Indices{0, 2}));
    EXPECT_EQ(best({4, 2}, 2, GetParam()), (Indices{0, 1}));
    EXPECT_EQ(best({4, 2}, 0, GetParam()), Indices{});
    EXPECT_EQ(best({}, 0, GetParam()), Indices{});
}

TEST_P(TopK, tiesGoToTheLowerIndex) { // F011, F014
    EXPECT_EQ(best(std::vector<float>(20, 0.1F), 6, GetParam()), (Indices{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(best({1, 2, 1, 2, 1}, 3, GetParam()), (Indices{0, 1, 3}));
    EXPECT_EQ(best({-0.0F, 0.0F, -0.0F}, 2, GetParam()), (Indices{0, 1}));
}

TEST_P(TopK, nanRanksBelowEveryNumber) {
    EXPECT_EQ(best({kNan, -kInfinity, 1, -kNan}, 2, GetParam()), (Indices{1, 2}));
    EXPECT_EQ(best({kNan, -kInfinity, 1, kNan}, 3, GetParam()), (Indices{0, 1, 2}));
    EXPECT_EQ(best({kInfinity, kNan, 3}, 1, GetParam()), (Indices{0}));
}

TEST_P(TopK, refusesMoreThanThereAre) { // F036
    const float score = 1;
    std::int32_t kept = 0;
    EXPECT_EQ(topK(&score, 1, 2, &kept, GetParam()), Status::BadShape);
    EXPECT_EQ(topK(&score, 1, -1, &kept, GetParam()), Status::BadShape);
}

INSTANTIATE_TEST_SUITE_P(Host, TopK, testing::Values(Backend::Reference, Backend::Cpu),
                         [](const auto& info) {
                             return info.param == Backend::Cpu ? "cpu" : "reference";
                         });

TEST(TopKProperty, cpuAgreesWithTheReferenceOnScoresWithManyTies) {
    const bool holds = rc::check([] {
        const auto count = *rc::gen::inRange<std::size_t>(1, 300);
        const auto scores = *rc::gen::container<std::vector<float>>(
            count, rc::gen::oneOf(rc::gen::map(rc::gen::inRange(-9, 9),
                                               [](int i) { return static_cast<float>(i) / 4; }),
                                  rc::gen::arbitrary<float>(),
                                  rc::gen::element(kNan, kInfinity, -kInfinity, 0.0F, -0.0F)));
        const auto k = *rc::gen::inRange<std::int64_t>(0, static_cast<std::int64_t>(count) + 1);
        const Indices wanted = best(scores, k, Backend::Reference);
        test::forEachInstructionSet(
            [&](const char*) { RC_ASSERT(best(scores, k, Backend::Cpu) == wanted); });
    });
    EXPECT_TRUE(holds);
}

TEST(TopKProperty, cpuAgreesWithTheReferenceOnLongRows) {
    std::vector<float> scores;
    for (int i = 0; i < 40000; ++i) { // few distinct values high up, so that every digit decides
        scores.push_back(1.0F + static_cast<float>((i * 7919) % 1009) * 1e-6F);
    }
    for (const std::int64_t k : {1, 64, 256, 2499, 20000, 39999, 40000}) {
        const Indices wanted = best(scores, k, Backend::Reference);
        test::forEachInstructionSet([&](const char* instructionSet) {
            EXPECT_EQ(best(scores, k, Backend::Cpu), wanted) << instructionSet << " k " << k;
        });
    }
}

} // namespace ecokv::kernels
