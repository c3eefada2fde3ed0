// SPDX-License-Identifier: GPL-3.0-or-later
// The measured parts of a layer: kept and put together again, they give what a fresh measurement
// gives, and parts of another setting are refused.
#include "layer_fixture.h"
#include "policy/measurement.h"
#include "sentence.h"

#include <gtest/gtest.h>

namespace ecokv::policy {
namespace {

using test::expectRefusal;
using test::Layer;

constexpr auto kCpu = kernels::Backend::Cpu;

Layer someLayer() {
    return Layer::random({.kvHeads = 3, .group = 2, .tokens = 40, .rows = 12, .dim = 8}, 5);
}

ResolvedPolicy resolved(const std::string& text) {
    return resolve(parsePolicy(text), 40);
}

TEST(Measurement, partsKeptFromOneSettingServeAnother) {
    Layer layer = someLayer();
    const auto first = resolved("ecokv:budget=16,window=8,recent=4");
    const MeasuredParts parts = measureParts(layer.input(), first, kCpu);

    const auto otherAlpha = resolved("ecokv:budget=12,window=8,recent=4,alpha=0.9,pool=1,vnorm=on");
    const LayerScores reused = scoreLayer(Measurement(parts, otherAlpha), otherAlpha);
    const LayerScores fresh = scoreLayer(layer.input(), otherAlpha, kCpu);
    for (std::size_t i = 0; i < 36; ++i) {
        EXPECT_EQ(reused.score[i], fresh.score[i]);
    }

    MeasuredParts otherWindow = parts;
    otherWindow.window = measureWindow(layer.input(), 5, kCpu);
    const auto narrow = resolved("mixkv:budget=16,window=5,recent=4");
    const LayerScores mixed = scoreLayer(Measurement(otherWindow, narrow), narrow);
    EXPECT_EQ(planLayer(mixed, narrow).keptRows,
              planLayer(scoreLayer(layer.input(), narrow, kCpu), narrow).keptRows);
}

TEST(Measurement, partsOfAnotherSettingAreRefused) {
    Layer layer = someLayer();
    const auto policy = resolved("ecokv:budget=16,window=8,recent=4");
    const MeasuredParts parts = measureParts(layer.input(), policy, kCpu);
    for (const char* other :
         {"ecokv:budget=16,window=7,recent=4", "ecokv:budget=16,recent=5",
          "ecokv:budget=16,recent=4,sink=1", "ecokv:budget=16,recent=4,geometry=pre"}) {
        const ResolvedPolicy wrong = resolved(other);
        expectRefusal(ErrorKind::Internal, {"Layer 0 was measured for", "a window of 8"},
                      [&] { Measurement(parts, wrong); });
    }
}

// What decode needs: heads of different lengths are scored one by one.
TEST(Measurement, headsScoredOneByOneEqualTheWholeLayer) {
    Layer layer = someLayer();
    for (const char* text : {"ecokv:budget=16", "random:budget=16,seed=3", "mixkv:budget=16"}) {
        const ResolvedPolicy policy = resolve(parsePolicy(text), 40);
        const LayerScores whole = scoreLayer(layer.input(), policy, kCpu);
        for (std::int32_t head = 0; head < 3; ++head) {
            LayerInput one = layer.input();
            one.firstHead = head;
            one.keys = one.keys.slice(0, head, head + 1);
            one.values = one.values.slice(0, head, head + 1);
            one.windowQueries = one.windowQueries.slice(0, 2 * head, 2 * head + 2);
            const LayerScores alone = scoreLayer(one, policy, kCpu);
            for (auto token = policy.candidateBegin(); token < policy.candidateEnd(); ++token) {
                const auto at = static_cast<std::size_t>(token);
                const auto first = static_cast<std::size_t>(head * 40);
                EXPECT_EQ(alone.score[at], whole.score[first + at]) << text;
            }
        }
    }
}

TEST(Measurement, valuesThatAreMissingHaveNoNorm) {
    Layer layer = someLayer();
    LayerInput input = layer.input();
    input.values = {};
    const auto values = measureValues(input, kCpu);
    EXPECT_FALSE(values->present);
    ASSERT_EQ(values->norm.size(), 120U);
    EXPECT_TRUE(std::isnan(values->norm[7]));
}

} // namespace
} // namespace ecokv::policy
