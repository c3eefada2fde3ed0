// SPDX-License-Identifier: GPL-3.0-or-later
// Field cases and refusals of scoring one layer.
#include "base/float_convert.h"
#include "layer_fixture.h"
#include "sentence.h"

#include <cmath>
#include <limits>

namespace ecokv::policy {
namespace {

using test::expectRefusal;
using test::Layer;
using test::LayerSize;
using test::Outcome;
using test::Rows;
using test::run;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

bool notes(const LayerScores& scores, const std::string& words) {
    return std::ranges::any_of(scores.notes, [&](const std::string& note) {
        return note.find(words) != std::string::npos;
    });
}

void expectFinite(const LayerScores& scores, const ResolvedPolicy& policy) {
    for (const auto* array : {&scores.importance, &scores.diversityCosine, &scores.diversityEuclid,
                              &scores.diversity, &scores.score}) {
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(array->size()); ++i) {
            const std::int64_t token = i % scores.tokens;
            const bool candidate =
                token >= policy.candidateBegin() && token < policy.candidateEnd();
            EXPECT_EQ(std::isfinite((*array)[static_cast<std::size_t>(i)]), candidate);
        }
    }
    for (const auto* array : {&scores.redundancy, &scores.redundancyCosine,
                              &scores.redundancyEuclid, &scores.anisotropy, &scores.meanKeyNorm}) {
        EXPECT_TRUE(std::ranges::all_of(*array, [](float x) { return std::isfinite(x); }));
    }
}

// F011: protected tokens are kept by index, also where every score is the same.
TEST(ScoreLayer, keepsRecentTokensWhenScoresTie) {
    LayerScores scores;
    scores.kvHeads = 1;
    scores.tokens = 20;
    scores.score.assign(20, 0.1F);
    const ResolvedPolicy policy = resolve(parsePolicy("ecokv:budget=6,recent=4,window=4"), 20);
    EXPECT_EQ(planLayer(scores, policy).keptRows[0], (Rows{0, 1, 16, 17, 18, 19}));
    const ResolvedPolicy sinks = resolve(parsePolicy("ecokv:budget=6,recent=1,sink=3"), 20);
    EXPECT_EQ(planLayer(scores, sinks).keptRows[0], (Rows{0, 1, 2, 3, 4, 19}));
}

// F014: norms 10.01, 10.02, 10.03 are one number in bf16; the order of fp32 must win.
TEST(ScoreLayer, ordersScoresThatBf16WouldTie) {
    ASSERT_EQ(floatToBf16(10.01F), floatToBf16(10.03F));
    Layer layer({.kvHeads = 1, .group = 1, .tokens = 5, .rows = 1, .dim = 2});
    layer.keys = {10.01F, 0, 10.02F, 0, 10.03F, 0, 10.02F, 0, 10.01F, 0};
    layer.queries = {0.01F, 0};
    for (const auto backend : {kernels::Backend::Reference, kernels::Backend::Cpu}) {
        const Outcome one = run(layer, "snapkv:budget=1,window=1,recent=0,pool=1", backend);
        EXPECT_EQ(one.plan.keptRows[0], (Rows{2}));
        const Outcome two = run(layer, "snapkv:budget=2,window=1,recent=0,pool=1", backend);
        EXPECT_EQ(two.plan.keptRows[0], (Rows{1, 2})); // 1 and 3 tie exactly
    }
}

// F015: scores and plans have the shape of the KV heads, whatever the number of query heads.
TEST(ScoreLayer, hasTheShapeOfTheKvHeads) {
    Layer layer = Layer::random({.kvHeads = 2, .group = 2, .tokens = 12, .rows = 4, .dim = 8}, 1);
    const Outcome outcome = run(layer, "ecokv:budget=6,window=4");
    EXPECT_EQ(outcome.scores.kvHeads, 2);
    EXPECT_EQ(outcome.scores.score.size(), 2U * 12);
    EXPECT_EQ(outcome.scores.redundancy.size(), 2U);
    EXPECT_EQ(outcome.plan.keptRows.size(), 2U);
}

// F021: equal value norms, equal keys: a constant contributes 0, is noted and nothing is NaN.
TEST(ScoreLayer, constantsCountAsZeroAndAreNotedWithLayerAndHead) {
    Layer layer({.kvHeads = 2, .group = 1, .tokens = 12, .rows = 12, .dim = 2}, 3);
    const Layer drawn = Layer::random({.kvHeads = 2, .group = 1, .tokens = 12, .rows = 12}, 5);
    layer.queries = drawn.queries;
    layer.keys = drawn.keys;
    for (std::size_t i = 24; i < 48; i += 2) { // head 1: one key, values of one norm
        layer.keys[i] = 0.5F;
        layer.keys[i + 1] = -2.0F;
    }
    layer.values.assign(layer.values.size(), 1.0F);
    for (const PolicyInfo& info : policies()) {
        const std::string text = info.name + ":budget=6,window=2,recent=2,vnorm=on";
        const Outcome outcome = run(layer, text);
        expectFinite(outcome.scores, resolve(parsePolicy(text), 12));
        EXPECT_TRUE(notes(outcome.scores, "layer 3 head 0: all value norms equal, counted as 0"));
        EXPECT_TRUE(notes(outcome.scores, "layer 3 head 1: all keys are equally close"));
        EXPECT_TRUE(notes(outcome.scores, "layer 3 head 1: all keys are equally far"));
        EXPECT_FALSE(notes(outcome.scores, "layer 3 head 0: all keys"));
        EXPECT_NEAR(outcome.scores.redundancy[1], 1.0F, 1e-6F);
        EXPECT_EQ(outcome.scores.diversity[12], 0.0F);
    }
}

// F023: q.k = 115200 overflows fp16; window logits are computed and scaled in fp32.
TEST(ScoreLayer, largeHalfPrecisionProductsStayFinite) {
    constexpr int kDim = 128;
    constexpr int kTokens = 6;
    std::vector<std::uint16_t> keys(kTokens * kDim, floatToF16(30.0F));
    std::vector<std::uint16_t> queries(2 * kDim, floatToF16(30.0F));
    std::vector<std::int64_t> positions = {0, 1, 2, 3, 4, 5};
    LayerInput input;
    input.keys = TensorView::contiguous(keys.data(), DType::F16, {1, kTokens, kDim});
    input.windowQueries = TensorView::contiguous(queries.data(), DType::F16, {1, 2, kDim});
    input.positions = positions;
    input.windowPositions = std::span(positions).last(2);
    const auto policy = resolve(parsePolicy("snapkv:budget=4,window=2,pool=1"), kTokens);
    const LayerScores scores = scoreLayer(input, policy, kernels::Backend::Cpu);
    for (int token = 0; token < 4; ++token) { // all keys are equal: (1/5 + 1/6) / 2
        EXPECT_NEAR(scores.score[static_cast<std::size_t>(token)], 11.0 / 60, 1e-6);
    }
    EXPECT_NEAR(scores.keyNorm[0], 30.0 * std::sqrt(128.0), 1e-3);
    EXPECT_TRUE(std::isnan(scores.valueNorm[0])); // no values were given
}

TEST(ScoreLayer, damagedRowsCountAsZeroAndAreNoted) {
    for (const float damage : {kNan, kInf, -kInf}) {
        for (const PolicyInfo& info : policies()) {
            Layer layer =
                Layer::random({.kvHeads = 2, .group = 2, .tokens = 12, .rows = 12, .dim = 4}, 11);
            layer.keys[12 * 4 + 5] = damage; // head 1, token 1
            layer.keys[11 * 4] = damage;     // head 0, a protected token
            layer.values[3] = damage;
            layer.queries[2 * 12 * 4 + 11 * 4] = damage; // head 2, the last row
            const std::string text = info.name + ":budget=6,window=4,recent=2,vnorm=on";
            const Outcome outcome = run(layer, text);
            expectFinite(outcome.scores, resolve(parsePolicy(text), 12));
            EXPECT_TRUE(notes(outcome.scores, "layer 0 head 0: 1 keys hold NaN or Inf"));
            EXPECT_TRUE(notes(outcome.scores, "layer 0 head 1: 1 keys hold NaN or Inf"));
            EXPECT_TRUE(notes(outcome.scores, "layer 0 head 0: 1 values hold NaN or Inf"));
            EXPECT_TRUE(notes(outcome.scores, "layer 0 head 2: 1 query rows hold NaN or Inf"));
            EXPECT_EQ(outcome.scores.keyNorm[12 + 1], 0.0F);
            EXPECT_TRUE(outcome.scores.isDamaged);
            if (outcome.plan.compressed) {
                EXPECT_EQ(outcome.plan.keptRows[1].size(), 6U);
            }
        }
    }
}

TEST(ScoreLayer, numbersNearTheEndOfFloat32StayFinite) {
    Layer layer = Layer::random({.kvHeads = 1, .group = 1, .tokens = 10, .rows = 2, .dim = 4}, 3);
    for (float& key : layer.keys) {
        key *= 1e38F;
    }
    const Outcome outcome = run(layer, "ecokv:budget=6,window=2");
    expectFinite(outcome.scores, resolve(parsePolicy("ecokv:budget=6,window=2"), 10));
    EXPECT_EQ(outcome.plan.keptRows[0].size(), 6U);
}

TEST(ScoreLayer, allZeroTensorsGiveZeroDiversityAndEvenImportance) {
    Layer layer({.kvHeads = 1, .group = 1, .tokens = 6, .rows = 2, .dim = 2});
    const Outcome outcome = run(layer, "ecokv:budget=4,window=2,recent=2");
    for (std::size_t token = 0; token < 4; ++token) {
        EXPECT_NEAR(outcome.scores.score[token], 11.0 / 60, 1e-6); // r = 0
        EXPECT_EQ(outcome.scores.diversity[token], 0.0F);
    }
    EXPECT_EQ(outcome.scores.redundancy[0], 0.0F);
    EXPECT_EQ(outcome.plan.keptRows[0], (Rows{0, 1, 4, 5}));
}

// The statistics are the same whatever policy ran, so that a trace can show them.
TEST(ScoreLayer, statisticsDoNotDependOnThePolicy) {
    Layer layer = Layer::random({.kvHeads = 2, .group = 2, .tokens = 30, .rows = 8, .dim = 8}, 9);
    const std::string options = ":budget=16,window=8,recent=4,pool_mode=avg,vnorm=off";
    const Outcome ecokv = run(layer, "ecokv" + options);
    for (const char* name : {"random", "streaming", "snapkv", "mixkv"}) {
        const Outcome other = run(layer, name + options);
        EXPECT_EQ(other.scores.redundancy, ecokv.scores.redundancy) << name;
        EXPECT_EQ(other.scores.keyNorm, ecokv.scores.keyNorm) << name;
        EXPECT_EQ(other.scores.valueNorm, ecokv.scores.valueNorm) << name;
        for (std::size_t i = 0; i < 26; ++i) {
            EXPECT_EQ(other.scores.diversity[i], ecokv.scores.diversity[i]) << name;
            EXPECT_EQ(other.scores.importance[i], ecokv.scores.importance[i]) << name;
        }
    }
}

// Only the last `window` of the delivered rows are observed.
TEST(ScoreLayer, olderQueryRowsAreNotObserved) {
    Layer layer = Layer::random({.kvHeads = 1, .group = 1, .tokens = 20, .rows = 8, .dim = 4}, 2);
    const Outcome before = run(layer, "snapkv:budget=8,window=3");
    std::fill_n(layer.queries.begin(), 5 * 4, 7.0F);
    EXPECT_EQ(run(layer, "snapkv:budget=8,window=3").plan.keptRows, before.plan.keptRows);
    layer.queries.back() += 9.0F;
    EXPECT_NE(run(layer, "snapkv:budget=8,window=3").scores.importance[0],
              before.scores.importance[0]);
}

// Un-rotated by true positions: those of the candidates, not the first ones. Squares, because equal
// steps would hide a shift (it turns all keys alike).
TEST(ScoreLayer, geometryPreUndoesTheRotationOfEveryTruePosition) {
    const LayerSize size{.kvHeads = 1, .group = 1, .tokens = 12, .rows = 2, .dim = 2};
    Layer still = Layer::random(size, 4);
    Layer rotated = still;
    const std::vector<float> frequency = {0.7F};
    std::vector<std::int64_t> positions;
    for (std::size_t token = 0; token < 12; ++token) {
        positions.push_back(static_cast<std::int64_t>(token * token));
        const float angle = 0.7F * static_cast<float>(token * token);
        const float x = still.keys[2 * token];
        const float y = still.keys[2 * token + 1];
        rotated.keys[2 * token] = x * std::cos(angle) - y * std::sin(angle);
        rotated.keys[2 * token + 1] = x * std::sin(angle) + y * std::cos(angle);
    }
    LayerInput input = rotated.input();
    const kernels::Rotation rotation{kernels::RopeStyle::Half, frequency.data(), positions.data(),
                                     1.0F};
    input.rotation = &rotation;
    input.positions = positions;
    input.windowPositions = std::span(positions).last(2);
    const auto outcomes = [&](const std::string& policy) {
        const std::string text = policy + ":budget=6,sink=1,recent=1,window=2,lambda=0";
        const auto pre = resolve(parsePolicy(text + ",geometry=pre"), 12);
        return std::pair{scoreLayer(input, pre, kernels::Backend::Cpu), run(still, text).scores};
    };
    for (const char* policy : {"ecokv", "mixkv"}) { // r and importance see the keys as cached
        const auto [undone, expected] = outcomes(policy);
        for (std::size_t token = 1; token < 11; ++token) {
            EXPECT_NEAR(undone.diversity[token], expected.diversity[token], 1e-5) << policy;
        }
    }
    for (const char* policy : {"keydiff", "manifoldkv", "rkv"}) {
        const auto [undone, expected] = outcomes(policy);
        for (std::size_t token = 1; token < 11; ++token) {
            EXPECT_NEAR(undone.score[token], expected.score[token], 1e-5) << policy;
        }
    }
}

TEST(ScoreLayer, refusesTensorsThatDoNotFitAndNamesTheLayer) {
    Layer layer = Layer::random({.kvHeads = 2, .group = 2, .tokens = 12, .rows = 4, .dim = 4}, 1);
    const auto refusal = [&](const std::string& policy, std::int64_t tokens,
                             const std::vector<std::string>& words, auto&& change) {
        LayerInput input = layer.input();
        input.layer = LayerId{5};
        change(input);
        std::vector<std::string> all = words;
        all.emplace_back("Layer 5 cannot be scored");
        expectRefusal(ErrorKind::BadInput, all, [&] {
            scoreLayer(input, resolve(parsePolicy(policy), tokens), kernels::Backend::Cpu);
        });
    };
    const auto nothing = [](LayerInput&) {};
    refusal("ecokv:budget=6", 12, {"4 query rows", "window needs 8", "smaller window"}, nothing);
    refusal("ecokv:budget=6,window=4,geometry=pre", 12, {"rotated", "geometry=post"}, nothing);
    refusal("ecokv:budget=6,window=4", 13, {"12 tokens", "resolved for 13"}, nothing);
    refusal("mixkv:budget=6,window=2", 12, {"no values", "vnorm=off"},
            [](LayerInput& input) { input.values = {}; });
    refusal("ecokv:budget=6,window=4", 12, {"11 token positions"},
            [](LayerInput& input) { input.positions = input.positions.first(11); });
    refusal("ecokv:budget=6,window=4", 12, {"3 query heads", "2 KV heads"},
            [](LayerInput& input) { input.windowQueries = input.windowQueries.slice(0, 0, 3); });
    refusal("ecokv:budget=6,window=4", 12, {"3 dimensions and keys 4"},
            [](LayerInput& input) { input.windowQueries = input.windowQueries.slice(2, 0, 3); });
    refusal("ecokv:budget=6,window=4", 12, {"values are", "[2, 11, 4]"},
            [](LayerInput& input) { input.values = input.values.slice(1, 0, 11); });
    refusal("ecokv:budget=6,window=4", 12, {"[kvHead, token, dim]"},
            [](LayerInput& input) { input.keys = input.keys[0]; });
}

TEST(ScoreLayer, refusesDtypesTheKernelsDoNotReadAndNamesTheLayer) {
    std::vector<std::int32_t> numbers(6 * 2);
    Layer layer({.kvHeads = 1, .group = 1, .tokens = 6, .rows = 2, .dim = 2});
    LayerInput input = layer.input();
    input.keys = TensorView::contiguous(numbers.data(), DType::I32, {1, 6, 2});
    const auto policy = resolve(parsePolicy("ecokv:budget=4,window=2"), 6);
    expectRefusal(ErrorKind::BadInput, {"layer 0", "key statistics"},
                  [&] { scoreLayer(input, policy, kernels::Backend::Cpu); });
}

} // namespace
} // namespace ecokv::policy
