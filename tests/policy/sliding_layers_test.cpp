// SPDX-License-Identifier: GPL-3.0-or-later
// Field case F034: layers with a sliding window are not evicted and take no part in the budget.
#include "layer_fixture.h"
#include "policy/policy.h"
#include "table_file.h"

#include <gtest/gtest.h>

namespace ecokv::policy {
namespace {

using Budgets = std::vector<std::int64_t>;

ResolvedPolicy resolved(const std::string& text, std::int64_t tokens, std::int32_t layers,
                        const std::vector<std::int64_t>& windows) {
    return resolve(parsePolicy(text), tokens, {layers, 1, "m", windows});
}

TEST(SlidingLayers, keepEveryTokenWhateverTheBudget) {
    for (const int index : {0, 1, 2, 3}) {
        test::Layer layer =
            test::Layer::random({.kvHeads = 2, .group = 1, .tokens = 30, .rows = 4, .dim = 4}, 3);
        LayerInput input = layer.input();
        input.layer = LayerId{index};
        for (const char* text : {"ecokv:budget=10,window=4", "snapkv:budget=10,window=4,"
                                                             "allocator=adaptive"}) {
            const auto policy = resolve(parsePolicy(text), 30, {4, 2, "m", {8, 0, 8, 0}});
            const auto plan = planLayer(scoreLayer(input, policy, kernels::Backend::Cpu), policy);
            EXPECT_EQ(plan.compressed, index % 2 == 1);
            EXPECT_EQ(plan.keptRows[0].size() + plan.keptRows[1].size(),
                      index % 2 == 1 ? 20U : 60U);
        }
    }
}

/// As Pyramid.theFirstLayerNeverKeepsMoreThanThePrompt: the full layers get 100, 90, 80 of 100.
TEST(SlidingLayers, aPyramidRunsOverTheFullLayersOnly) {
    const auto policy = resolved("knorm:budget=90,allocator=pyramid", 100, 5, {8, 0, 0, 8, 0});
    EXPECT_EQ(policy.headBudgets, (Budgets{100, 100, 90, 100, 80}));
}

/// 2 x 10 - 4 = 16 to share in proportion 1:3 by the layers 1 and 3.
TEST(SlidingLayers, weightsOfSlidingLayersDoNotCount) {
    const test::TableFile file(R"({"format":"ecokv-head-table","kind":"weights","model":"m",
        "layers":4,"kv_heads":1,"values":[[50],[1],[50],[3]]})");
    const auto policy =
        resolved("streaming:budget=10,sink=2,allocator=static,head_weights=" + file.path(), 100, 4,
                 {8, 0, 8, 0});
    EXPECT_EQ(policy.headBudgets, (Budgets{100, 6, 100, 14}));
}

TEST(SlidingLayers, theNoteNamesThem) {
    EXPECT_NE(resolved("knorm:budget=9", 100, 4, {8, 0, 8, 0})
                  .note.find("sliding, not evicted: layers 0, 2"),
              std::string::npos);
    EXPECT_EQ(resolved("knorm:budget=9", 100, 4, {0, 0, 0, 0}).note, "");
    const auto all = resolved("knorm:budget=9", 100, 2, {8, 8});
    EXPECT_FALSE(all.compresses);
    EXPECT_EQ(all.note, "not compressed: every layer slides, and sliding layers are not evicted");
}

} // namespace
} // namespace ecokv::policy
