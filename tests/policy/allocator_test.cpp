// SPDX-License-Identifier: GPL-3.0-or-later
// Budgets shared over layers and heads: the sums are exact and every head keeps its protected
// tokens. Numbers are worked by hand from the rules of the README and the field cases.
#include "layer_fixture.h"
#include "policy/exact_shares.h"
#include "policy/head_table.h"
#include "sentence.h"
#include "table_file.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace ecokv::policy {
namespace {

using test::expectRefusal;
using test::TableFile;
using Budgets = std::vector<std::int64_t>;

Budgets shared(const std::string& policy, std::int64_t tokens, const ModelShape& shape) {
    return resolve(parsePolicy(policy), tokens, shape).headBudgets;
}

std::int64_t sum(const Budgets& budgets) {
    return std::accumulate(budgets.begin(), budgets.end(), std::int64_t{0});
}

/// Heads whose first `high[h]` of `candidates` candidates score 1, the others 0.
std::vector<std::vector<float>> stepScores(const std::vector<std::size_t>& high,
                                           std::size_t candidates) {
    std::vector<std::vector<float>> scores;
    for (const std::size_t count : high) {
        scores.emplace_back(candidates, 0.0F);
        std::fill_n(scores.back().begin(), count, 1.0F);
    }
    return scores;
}

Budgets adaptive(const std::vector<std::vector<float>>& scores, std::int64_t budget,
                 std::int64_t protectedTokens, double floor = 0.2) {
    std::vector<HeadCandidates> heads;
    for (const auto& score : scores) {
        heads.push_back({score, budget, protectedTokens});
    }
    PolicyConfig config;
    config.allocator = "adaptive";
    config.floor = floor;
    return allocateLayer(heads, config);
}

// F008: window 32 and cap 96 leave 64 to share: 124.8 down to 3.2 in steps of 40.53, so 156.8,
// 116.27, 75.73, 35.2 with the window. Rounded down 382 of 384; the two missing go to .8 and .73.
TEST(Pyramid, theRemainderMakesTheTotalExact) {
    EXPECT_EQ(shared("snapkv:budget=96,window=32,allocator=pyramid", 1000, {4, 1, ""}),
              (Budgets{157, 116, 76, 35}));
}

// F007: 8 layers, average 64, 4 sinks. Steepness moves tokens between layers and adds none; beta 2
// leaves the last layer 4 + 60 / 2 = 34 and gives the first 94.
TEST(Pyramid, theMeanStaysTheBudgetForEverySteepness) {
    for (const char* beta : {"1", "2", "3", "5", "20", "1000"}) {
        const Budgets budgets =
            shared(std::string("streaming:budget=64,sink=4,allocator=pyramid,pyramid_beta=") + beta,
                   500, {8, 2, ""});
        EXPECT_EQ(sum(budgets), 8 * 2 * 64) << beta;
        EXPECT_TRUE(std::ranges::is_sorted(budgets, std::greater<>())) << beta;
    }
    const Budgets two =
        shared("streaming:budget=64,sink=4,allocator=pyramid,pyramid_beta=2", 500, {8, 1, ""});
    EXPECT_EQ(two.front(), 94);
    EXPECT_EQ(two.back(), 34);
    EXPECT_EQ(shared("streaming:budget=64,allocator=pyramid,pyramid_beta=1", 500, {3, 1, ""}),
              (Budgets{64, 64, 64}));
}

// F005: ratio 0.96 of 10 tokens leaves floor(0.4) = 0; every one of 32 layers still keeps one.
TEST(Pyramid, tinyBudgetsLeaveEveryLayerAToken) {
    EXPECT_EQ(shared("knorm:ratio=0.96,allocator=pyramid", 10, {32, 1, ""}), Budgets(32, 1));
    // Mean 2: the last layer would get 2 / 20, gets 1, and the first is lowered from 3.9 to 3.
    EXPECT_EQ(shared("knorm:budget=2,allocator=pyramid", 10, {3, 1, ""}), (Budgets{3, 2, 1}));
}

TEST(Pyramid, aModelOfOneLayerGetsTheAverage) { // F005
    EXPECT_EQ(shared("ecokv:budget=48,allocator=pyramid", 269, {1, 2, ""}), (Budgets{48, 48}));
}

// 90 of 100 tokens: the first layer would get 175.5, gets all 100, so the last gets 80.
TEST(Pyramid, theFirstLayerNeverKeepsMoreThanThePrompt) {
    EXPECT_EQ(shared("knorm:budget=90,allocator=pyramid", 100, {3, 1, ""}), (Budgets{100, 90, 80}));
}

TEST(Pyramid, plansFollowTheBudgetOfTheirLayer) {
    for (const int index : {0, 1}) {
        const test::LayerSize size{.kvHeads = 2, .group = 1, .tokens = 30, .rows = 4, .dim = 4};
        test::Layer layer = test::Layer::random(size, 3);
        LayerInput input = layer.input();
        input.layer = LayerId{index};
        const auto policy = resolve(
            parsePolicy("ecokv:budget=10,window=4,recent=2,allocator=pyramid,pyramid_beta=2"), 30,
            {2, 2, ""});
        const auto plan = planLayer(scoreLayer(input, policy, kernels::Backend::Cpu), policy);
        for (const auto& rows : plan.keptRows) { // 2 + 8 / 2 = 6 and 20 - 6 = 14
            EXPECT_EQ(rows.size(), index == 0 ? 14U : 6U);
        }
    }
}

TEST(Pyramid, steepnessBelowOneIsRefused) {
    expectRefusal(ErrorKind::Usage, {"pyramid_beta is 0.5", "at least 1"}, [] {
        resolve(parsePolicy("knorm:budget=4,allocator=pyramid,pyramid_beta=0.5"), 10);
    });
}

// F025: base 41, floor 0.2, raw shares 40/75/8: 8.2 + 0.8 x raw = 40.2, 68.2, 14.6. Rounded down
// that is 122; the token missing from 123 goes to the largest remainder.
TEST(Adaptive, sharesOfAHeadsRoundToTheExactTotal) {
    EXPECT_EQ(adaptive(stepScores({40, 75, 8}, 100), 41, 0), (Budgets{40, 68, 15}));
}

// 12 + 0.2 x 36 + 0.8 raw = 61.6, 19.2, 41.6, 69.6: two tokens are missing from 192 and three heads
// have an equal claim, so the earlier two get them. In doubles the .6 of head 3 is the largest.
TEST(Adaptive, equalRemaindersGoToTheEarlierHeads) {
    EXPECT_EQ(adaptive(stepScores({53, 0, 28, 63}, 257), 48, 12), (Budgets{62, 19, 42, 69}));
    EXPECT_EQ(adaptive(stepScores({16, 26, 3, 51}, 253), 40, 16), (Budgets{34, 42, 23, 61}));
}

// The protected 9 are not shared: 9 + 0.2 x 32 + 0.8 raw with raw 96 and 0.
TEST(Adaptive, protectedTokensAreNotShared) {
    EXPECT_EQ(adaptive(stepScores({64, 0}, 64), 41, 9), (Budgets{67, 15})); // 66.6, 15.4
}

TEST(Adaptive, aFloorOfOneIsUniformAndOfZeroFollowsTheScores) {
    const auto scores = stepScores({50, 20}, 60);
    EXPECT_EQ(adaptive(scores, 35, 0, 1.0), (Budgets{35, 35}));
    EXPECT_EQ(adaptive(scores, 35, 0, 0.0), (Budgets{50, 20}));
    // A head that wins nothing and has nothing protected still keeps a token.
    EXPECT_EQ(adaptive(stepScores({4, 0}, 60), 2, 0, 0.0), (Budgets{3, 1}));
}

// Equal scores: the lower position wins, then the lower head, so heads share evenly.
TEST(Adaptive, tiesAreSharedByPosition) {
    EXPECT_EQ(adaptive(stepScores({0, 0, 0}, 30), 5, 0), (Budgets{5, 5, 5}));
    EXPECT_EQ(adaptive(stepScores({0, 0}, 30), 1, 1), (Budgets{1, 1}));
    // One clear winner, then 5 of the ties: positions 0 to 2 of head 0 but its winner at 1, 0 to 2
    // of head 1.
    auto scores = stepScores({0, 0}, 30);
    scores[0][1] = 1.0F;
    EXPECT_EQ(adaptive(scores, 3, 0, 0.0), (Budgets{3, 3}));
    scores[1].resize(1);
    EXPECT_EQ(adaptive(scores, 3, 0, 0.0), (Budgets{5, 1}));
}

// NaN ranks below every number and is still a candidate when nothing else is left.
TEST(Adaptive, scoresThatAreNoNumbersComeLast) {
    auto scores = stepScores({10, 10}, 10);
    std::fill(scores[0].begin(), scores[0].end(), std::numeric_limits<float>::quiet_NaN());
    EXPECT_EQ(adaptive(scores, 5, 0, 0.0), (Budgets{1, 9})); // 0 and 10; nothing protected: 1
    EXPECT_EQ(adaptive(scores, 8, 0, 0.0), (Budgets{6, 10}));
}

// While decoding heads have different lengths: the layer's total is kept to where it can be.
TEST(Adaptive, headsOfDifferentLengthShareTheLayersTotal) {
    const std::vector<float> one(50, 1.0F);
    const std::vector<float> none(6, 0.5F);
    PolicyConfig config;
    config.allocator = "adaptive";
    const std::vector<HeadCandidates> heads = {{one, 20, 4}, {none, 20, 4}};
    // 32 to share: sure 3.2 and 1.2 (of 6), the other 27.6 to the first head.
    EXPECT_EQ(allocateLayer(heads, config), (Budgets{4 + 31, 4 + 1}));
    const std::vector<HeadCandidates> few = {{none, 20, 4}, {none, 20, 4}};
    EXPECT_EQ(allocateLayer(few, config), (Budgets{10, 10}));
    config.allocator = "uniform";
    EXPECT_EQ(allocateLayer(heads, config), (Budgets{20, 10}));
}

TEST(Adaptive, plansOfALayerAreRaggedAndExact) {
    test::Layer layer =
        test::Layer::random({.kvHeads = 3, .group = 2, .tokens = 60, .rows = 4, .dim = 8}, 11);
    for (float& query : std::span(layer.queries).first(2 * 4 * 8)) {
        query *= 6.0F; // head 0 attends sharply, the others evenly
    }
    const test::Outcome outcome = test::run(layer, "snapkv:budget=20,window=4,allocator=adaptive");
    const auto& rows = outcome.plan.keptRows;
    EXPECT_EQ(rows[0].size() + rows[1].size() + rows[2].size(), 60U);
    EXPECT_NE(rows[0].size(), rows[1].size());
    for (const auto& head : rows) {
        EXPECT_GE(head.size(), 4U + 3U); // 4 recent + 0.2 x 16
    }
}

TEST(Adaptive, floorsOutsideZeroToOneAreRefused) {
    expectRefusal(ErrorKind::Usage, {"floor is 1.5", "between 0 and 1"},
                  [] { resolve(parsePolicy("ecokv:budget=8,floor=1.5"), 40); });
}

// 2 sinks each; 4 x 10 - 8 = 32 in proportion 1:1:2:4.
TEST(Static, headsKeepInProportionToTheirWeights) {
    const TableFile file(R"({"format":"ecokv-head-table","kind":"weights","model":"m","layers":2,
        "kv_heads":2,"values":[[1,1],[2,4]]})");
    EXPECT_EQ(shared("streaming:budget=10,sink=2,allocator=static,head_weights=" + file.path(), 100,
                     {2, 2, "m"}),
              (Budgets{6, 6, 10, 18}));
}

// One head would get 4/5 of 40 = 32 of 20 tokens: it keeps 20, the others share the other 20.
TEST(Static, limitsAreKeptAndTheTotalStaysExact) {
    const TableFile file(R"({"format":"ecokv-head-table","kind":"weights","model":"m","layers":1,
        "kv_heads":4,"values":[[16,2,2,0]]})");
    const std::string policy = "knorm:budget=10,allocator=static,head_weights=" + file.path();
    // The head of weight 0 keeps 1; 40 - 20 - 1 = 19 halved, the odd one to the earlier head.
    EXPECT_EQ(shared(policy, 20, {1, 4, "m"}), (Budgets{20, 10, 9, 1}));
}

TEST(Static, weightsOfAnotherModelAreRefused) { // F028
    Budgets none(28 * 4, 1);
    std::string rows;
    for (int layer = 0; layer < 28; ++layer) {
        rows += std::string(layer > 0 ? "," : "") + "[1,1,1,1]";
    }
    const TableFile file(
        R"({"format":"ecokv-head-table","kind":"weights","model":"qwen","layers":28,
        "kv_heads":4,"values":[)" +
        rows + "]}");
    const std::string policy = "knorm:budget=10,allocator=static,head_weights=" + file.path();
    expectRefusal(ErrorKind::BadInput, {file.path(), "28 layers x 4 KV heads", "32 x 8"}, [&] {
        shared(policy, 100, {32, 8, "qwen"});
    });
    expectRefusal(ErrorKind::BadInput, {file.path(), "\"qwen\"", "\"toy\""}, [&] {
        shared(policy, 100, {28, 4, "toy"});
    });
    EXPECT_EQ(shared(policy, 100, {28, 4, "qwen"}), Budgets(28 * 4, 10));
}

TEST(Static, aFileIsNeeded) {
    expectRefusal(ErrorKind::Usage, {"static needs the weights", "head_weights=FILE"},
                  [] { resolve(parsePolicy("knorm:budget=4,allocator=static"), 10); });
    expectRefusal(ErrorKind::BadInput, {"nowhere.json", "no such file"}, [] {
        resolve(parsePolicy("knorm:budget=4,allocator=static,head_weights=nowhere.json"), 10);
    });
}

// F031 for the smallest head: no allocator goes below what is always kept.
TEST(Allocators, everyHeadKeepsItsProtectedTokens) {
    const TableFile file(R"({"format":"ecokv-head-table","kind":"weights","model":"m","layers":3,
        "kv_heads":1,"values":[[1],[0],[0]]})");
    for (const std::string& allocator : allocators()) {
        const std::string weights =
            allocator == "static" ? ",head_weights=" + file.path() : std::string();
        const auto policy = resolve(
            parsePolicy("snapkv:budget=20,sink=3,window=12,allocator=" + allocator + weights), 200,
            {3, 1, "m"});
        for (std::int32_t layer = 0; layer < 3; ++layer) {
            EXPECT_GE(policy.headBudget(layer, 0), 15) << allocator;
        }
        expectRefusal(ErrorKind::Usage, {"budget of 14", "3 sinks", "12 recent"}, [&] {
            resolve(
                parsePolicy("snapkv:budget=14,sink=3,window=12,allocator=" + allocator + weights),
                200, {3, 1, "m"});
        });
    }
}

TEST(Allocators, nothingIsSharedWhereEverythingIsKept) {
    for (const std::string& allocator : allocators()) {
        if (allocator == "static") {
            continue; // needs a file
        }
        const auto policy =
            resolve(parsePolicy("knorm:budget=40,allocator=" + allocator), 40, {4, 2, ""});
        EXPECT_FALSE(policy.compresses);
        EXPECT_TRUE(policy.headBudgets.empty());
    }
}

TEST(Allocators, headsBeyondTheModelAreABug) {
    const auto policy = resolve(parsePolicy("knorm:budget=4,allocator=pyramid"), 40, {2, 2, ""});
    expectRefusal(ErrorKind::Internal, {"Layer 2 head 0"}, [&] { policy.headBudget(2, 0); });
}

TEST(Allocators, areListedWithFormulaAndSource) {
    EXPECT_EQ(allocators(), (std::vector<std::string>{"uniform", "pyramid", "adaptive", "static"}));
    for (const PolicyInfo& info : allocatorInfos()) {
        EXPECT_EQ(info.summary.back(), '.');
        EXPECT_FALSE(info.formula.empty());
        EXPECT_FALSE(info.source.empty());
    }
}

TEST(ExactShares, missingTokensGoToTheLargestRemaindersAndTiesToTheEarlier) {
    const std::vector<ShareLimits> free(3, {0, 100});
    EXPECT_EQ(roundExactly(std::vector{1.5, 1.5, 1.0}, free, 4), (Budgets{2, 1, 1}));
    EXPECT_EQ(roundExactly(std::vector{1.1, 1.8, 1.1}, free, 4), (Budgets{1, 2, 1}));
    EXPECT_EQ(roundExactly(std::vector{1.5, 1.5 + 1e-12, 1.0}, free, 4), (Budgets{2, 1, 1}));
    // Limits first: the second head may not have more than 1.
    const std::vector<ShareLimits> limited = {{0, 100}, {0, 1}, {0, 100}};
    EXPECT_EQ(roundExactly(std::vector{1.1, 1.8, 1.1}, limited, 4), (Budgets{2, 1, 1}));
    // Lower limits above the shares are paid for by the others.
    const std::vector<ShareLimits> lows = {{3, 100}, {0, 100}, {0, 100}};
    EXPECT_EQ(roundExactly(std::vector{0.0, 2.0, 2.0}, lows, 4), (Budgets{3, 0, 1}));
}

} // namespace
} // namespace ecokv::policy
