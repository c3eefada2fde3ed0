// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/policy_diff.h"
#include "base/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ecokv::analysis {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const trace::Dimensions kTwoHeads{.layers = 1, .kvHeads = 2, .tokens = 5};

} // namespace

TEST(PolicyDiff, countsWhatBothKeepAndListsTheRest) {
    const DiffSide a{"a", {1, 1, 1, 0, 0, /**/ 1, 0, 0, 0, 1}, {}};
    const DiffSide b{"b", {0, 1, 1, 1, 1, /**/ 1, 0, 0, 0, 1}, {}};
    const PolicyDiff diff = diffPolicies(kTwoHeads, a, b);
    ASSERT_EQ(diff.heads.size(), 2U);
    EXPECT_EQ(diff.heads[0].keptA, 3);
    EXPECT_EQ(diff.heads[0].keptB, 4);
    EXPECT_EQ(diff.heads[0].both, 2);
    EXPECT_DOUBLE_EQ(diff.heads[0].jaccard, 2.0 / 5.0);
    EXPECT_EQ(diff.heads[0].onlyA, (std::vector<std::int32_t>{0}));
    EXPECT_EQ(diff.heads[0].onlyB, (std::vector<std::int32_t>{3, 4}));
    EXPECT_EQ(diff.heads[1].kvHead, 1);
    EXPECT_DOUBLE_EQ(diff.heads[1].jaccard, 1.0);
    EXPECT_DOUBLE_EQ(diff.jaccard, 0.7);
    EXPECT_TRUE(std::isnan(diff.spearman)) << "no scores, no correlation";
    ASSERT_EQ(diff.tokens.size(), 3U);
    EXPECT_EQ(diff.tokens[0].token, 0);
    EXPECT_EQ(diff.tokens[0].headsOnlyA, 1);
    EXPECT_EQ(diff.tokens[2].token, 4);
    EXPECT_EQ(diff.tokens[2].headsOnlyB, 1);
}

TEST(PolicyDiff, correlatesRanksOfCommonCandidatesOnly) {
    // Head 0: tokens 0 to 3 are candidates of both; ranks 1 2 3 4 against 1 2 4 3: rho = 0.8.
    // Head 1: one common candidate, no correlation.
    const DiffSide a{
        "a", std::vector<std::uint8_t>(10, 1), {1, 2, 3, 4, 9, /**/ kNaN, kNaN, 1, 2, 3}};
    const DiffSide b{
        "b", std::vector<std::uint8_t>(10, 1), {10, 20, 40, 30, kNaN, /**/ 1, 2, 3, kNaN, kNaN}};
    const PolicyDiff diff = diffPolicies(kTwoHeads, a, b);
    EXPECT_NEAR(diff.heads[0].spearman, 0.8, 1e-12);
    EXPECT_TRUE(std::isnan(diff.heads[1].spearman));
    EXPECT_NEAR(diff.spearman, 0.8, 1e-12);
}

TEST(PolicyDiff, ofHeadsThatKeepNothingIsNoDifference) {
    const DiffSide nothing{"a", std::vector<std::uint8_t>(10, 0), {}};
    EXPECT_DOUBLE_EQ(diffPolicies(kTwoHeads, nothing, nothing).jaccard, 1.0);
}

TEST(PolicyDiff, asCsvHasALinePerHead) {
    const DiffSide a{"ecokv:budget=3", {1, 1, 1, 0, 0, /**/ 1, 0, 0, 0, 1}, {}};
    const DiffSide b{"b\nb", {0, 1, 1, 1, 1, /**/ 1, 0, 0, 0, 1}, {}};
    EXPECT_EQ(policyDiffCsv(diffPolicies(kTwoHeads, a, b)),
              "# a = ecokv:budget=3; b = b b\n"
              "layer,kv_head,kept_a,kept_b,both,jaccard,spearman,only_a,only_b\n"
              "0,0,3,4,2,0.4,,0,3 4\n"
              "0,1,2,2,2,1,,,\n");
}

TEST(PolicyDiff, ofDifferentTracesIsRefused) {
    const DiffSide a{"a", std::vector<std::uint8_t>(10, 1), {}};
    const DiffSide b{"b", std::vector<std::uint8_t>(8, 1), {}};
    EXPECT_THROW(diffPolicies(kTwoHeads, a, b), Error);
}

} // namespace ecokv::analysis
