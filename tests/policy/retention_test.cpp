// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/retention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ecokv::policy {

namespace {

/// Two tokens, one head of dim 1, queries chosen so that the attention is known by hand.
struct TwoTokens {
    std::vector<float> keys{0.0F, std::log(3.0F)}; // with q = 1 the weights are 1/4 and 3/4
    std::vector<float> values{8.0F, 4.0F};
    std::vector<float> queries{1.0F};
    std::vector<std::int64_t> positions{0, 1}, windowPositions{1};

    LayerInput input() {
        return {LayerId{0},
                TensorView::contiguous(keys.data(), DType::F32, {1, 2, 1}),
                TensorView::contiguous(values.data(), DType::F32, {1, 2, 1}),
                TensorView::contiguous(queries.data(), DType::F32, {1, 1, 1}),
                positions,
                windowPositions,
                nullptr};
    }
};

} // namespace

TEST(Retention, massAndErrorOfAHandWorkedHead) {
    TwoTokens two;
    const auto first = measureRetention(two.input(), {LayerId{0}, {{0}}, true}, 1);
    EXPECT_NEAR(first.retainedMass[0], 0.25, 1e-6);
    EXPECT_NEAR(first.outputError[0], (8.0 - 5.0) / 5.0, 1e-6); // o_full = 8/4 + 4*3/4 = 5
    const auto second = measureRetention(two.input(), {LayerId{0}, {{1}}, true}, 1);
    EXPECT_NEAR(second.retainedMass[0], 0.75, 1e-6);
    EXPECT_NEAR(second.outputError[0], (5.0 - 4.0) / 5.0, 1e-6);
}

TEST(Retention, keepingEverythingCostsNothing) {
    TwoTokens two;
    const auto all = measureRetention(two.input(), {LayerId{0}, {{0, 1}}, false}, 1);
    EXPECT_NEAR(all.retainedMass[0], 1.0, 1e-6);
    EXPECT_NEAR(all.outputError[0], 0.0, 1e-6);
}

TEST(Retention, aRowDoesNotSeeKeysBehindIt) {
    TwoTokens two;
    two.windowPositions = {0}; // the row stands at the first token: all its attention is there
    const auto first = measureRetention(two.input(), {LayerId{0}, {{0}}, true}, 1);
    EXPECT_NEAR(first.retainedMass[0], 1.0, 1e-6);
    EXPECT_NEAR(first.outputError[0], 0.0, 1e-6);
}

// One row of each window size; the second row asks with q = -1, so that its weights are 3/4 and
// 1/4.
TEST(Retention, plansMeasuredTogetherEqualPlansMeasuredAlone) {
    TwoTokens two;
    two.queries = {1.0F, -1.0F};
    two.windowPositions = {1, 1};
    LayerInput input = two.input();
    input.windowQueries = TensorView::contiguous(two.queries.data(), DType::F32, {1, 2, 1});
    const cache::LayerPlan first{LayerId{0}, {{0}}, true}, second{LayerId{0}, {{1}}, true};
    const std::vector<MeasuredPlan> plans{{&first, 1}, {&second, 2}, {&first, 9}};
    const auto together = measureRetentions(input, plans);
    ASSERT_EQ(together.size(), 3U);
    EXPECT_NEAR(together[0].retainedMass[0], 0.75, 1e-6);
    EXPECT_NEAR(together[0].outputError[0], (8.0 - 7.0) / 7.0, 1e-6); // o_full = 8 * 3/4 + 4/4
    EXPECT_NEAR(together[1].retainedMass[0], 0.5, 1e-6);
    EXPECT_NEAR(together[1].outputError[0], std::sqrt((1.0 + 9.0) / (25.0 + 49.0)), 1e-6);
    EXPECT_EQ(together[2].outputError, measureRetention(input, first, 2).outputError);
}

// F023: 30 * 30 * 128 overflows half precision before it is scaled.
TEST(Retention, largeQueriesAndKeysStayFinite) {
    std::vector<float> large(128, 30.0F), values(128, 1.0F);
    std::vector<std::int64_t> position{0};
    const LayerInput input{LayerId{0},
                           TensorView::contiguous(large.data(), DType::F32, {1, 1, 128}),
                           TensorView::contiguous(values.data(), DType::F32, {1, 1, 128}),
                           TensorView::contiguous(large.data(), DType::F32, {1, 1, 128}),
                           position,
                           position,
                           nullptr};
    const auto result = measureRetention(input, {LayerId{0}, {{0}}, false}, 1);
    EXPECT_NEAR(result.retainedMass[0], 1.0, 1e-6);
    EXPECT_NEAR(result.outputError[0], 0.0, 1e-6);
}

} // namespace ecokv::policy
