// SPDX-License-Identifier: GPL-3.0-or-later
// Rows that are not finite: how they are told, and what they count as.
#include "policy/damaged_rows.h"

#include "layer_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace ecokv::policy {
namespace {

using test::Layer;
using test::LayerSize;
using test::Outcome;
using test::run;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

} // namespace

TEST(DamagedRows, notesOfDamageNameTheirLayer) {
    const std::string keys = "layer 12 head 3: 4 keys hold NaN or Inf, counted as zero";
    EXPECT_EQ(damagedLayerOf(keys), 12);
    EXPECT_EQ(damagedLayerOf(keys, "keys"), 12);
    EXPECT_EQ(damagedLayerOf(keys, "values"), std::nullopt);
    EXPECT_EQ(damagedLayerOf("layer 3 head 1: all value norms equal, counted as 0"), std::nullopt);
    EXPECT_EQ(damagedLayerOf("The trace takes about 3.0 MB."), std::nullopt);
    Layer layer = Layer::random({.kvHeads = 2, .group = 2, .tokens = 12, .rows = 12, .dim = 4}, 11);
    EXPECT_FALSE(run(layer, "ecokv:budget=6,window=4,recent=2").scores.isDamaged);
    EXPECT_TRUE(holdsOnlyFinite(layer.input().keys));
    layer.keys.back() = kInf;
    EXPECT_FALSE(holdsOnlyFinite(layer.input().keys));
    const std::string note =
        run(layer, "ecokv:budget=6,window=4,recent=2").scores.notes.front(); // as it is written
    EXPECT_EQ(damagedLayerOf(note, "keys"), 0);
}

// In the geometry a damaged key is the zero key; no query row can see it.
TEST(DamagedRows, aDamagedKeyIsAZeroKeyThatNobodySees) {
    const LayerSize size{.kvHeads = 1, .group = 1, .tokens = 10, .rows = 2, .dim = 4};
    Layer damaged = Layer::random(size, 3);
    Layer zero = damaged;
    damaged.keys[4 * 4 + 2] = kNan;
    std::fill_n(zero.keys.begin() + 4 * 4, 4, 0.0F);
    const Outcome a = run(damaged, "ecokv:budget=6,window=2,pool=1");
    const Outcome b = run(zero, "ecokv:budget=6,window=2,pool=1");
    for (std::size_t token = 0; token + 1 < 10; ++token) { // the last one is protected
        EXPECT_EQ(a.scores.diversity[token], b.scores.diversity[token]);
    }
    EXPECT_EQ(a.scores.redundancy, b.scores.redundancy);
    EXPECT_EQ(a.scores.importance[4], 0.0F);
    EXPECT_GT(b.scores.importance[4], 0.0F);
}

} // namespace ecokv::policy
