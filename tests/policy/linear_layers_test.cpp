// SPDX-License-Identifier: GPL-3.0-or-later
// Layers with linear attention have no KV cache: no budget, no share in anybody else's.
#include "policy/policy.h"
#include "table_file.h"

#include <gtest/gtest.h>

namespace ecokv::policy {
namespace {

using Budgets = std::vector<std::int64_t>;

/// Layers 0, 1, 3 and 4 are linear, as three of four in Qwen3.5; layer 6 slides.
ModelShape mixed() {
    return {7, 1, "m", {0, 0, 0, 0, 0, 0, 8}, {1, 1, 0, 1, 1, 0, 0}};
}

ResolvedPolicy resolved(const std::string& text, std::int64_t tokens, const ModelShape& shape) {
    return resolve(parsePolicy(text), tokens, shape);
}

TEST(LinearLayers, areNeitherEvictedNorSliding) {
    const ModelShape shape = mixed();
    EXPECT_EQ(shape.fullLayers(), (std::vector<std::int32_t>{2, 5}));
    EXPECT_TRUE(shape.isLinear(4));
    EXPECT_FALSE(shape.isLinear(6));
    EXPECT_FALSE(shape.canEvict(4));
    EXPECT_FALSE(shape.canEvict(6));
    EXPECT_TRUE(shape.canEvict(5));
    EXPECT_FALSE(ModelShape{}.isLinear(3));
}

/// Two full layers share 2 x 90 from 100 down to 80.
TEST(LinearLayers, aPyramidGivesThemNothing) {
    const auto policy = resolved("knorm:budget=90,allocator=pyramid", 100, mixed());
    EXPECT_EQ(policy.headBudgets, (Budgets{0, 0, 100, 0, 0, 80, 100}));
}

/// 2 x 10 - 4 = 16 to share in proportion 1:3 by the layers 2 and 5, whatever the others weigh,
/// and also where the table says, as `ecokv export-table` writes it, that they have no weight.
TEST(LinearLayers, theirWeightsDoNotCount) {
    for (const char* values :
         {"[50],[9],[1],[50],[7],[3],[50]", "null,null,[1],null,null,[3],[50]"}) {
        const test::TableFile file(
            std::string(R"({"format":"ecokv-head-table","kind":"weights","model":"m",)"
                        R"("layers":7,"kv_heads":1,"values":[)") +
            values + "]}");
        const auto policy =
            resolved("streaming:budget=10,sink=2,allocator=static,head_weights=" + file.path(), 100,
                     mixed());
        EXPECT_EQ(policy.headBudgets, (Budgets{0, 0, 6, 0, 0, 14, 100})) << values;
    }
}

TEST(LinearLayers, theNoteNamesThem) {
    const auto some = resolved("knorm:budget=9", 100, mixed());
    EXPECT_TRUE(some.compresses);
    EXPECT_NE(some.note.find("no KV cache (linear attention): layers 0, 1, 3, 4"),
              std::string::npos)
        << some.note;
    EXPECT_NE(some.note.find("sliding, not evicted: layer 6"), std::string::npos);
    const auto all = resolved("knorm:budget=9", 100, {2, 1, "m", {0, 8}, {1, 0}});
    EXPECT_FALSE(all.compresses);
    EXPECT_EQ(all.note, "not compressed: every layer slides or has no KV cache");
}

} // namespace
} // namespace ecokv::policy
