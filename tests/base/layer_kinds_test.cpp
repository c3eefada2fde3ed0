// SPDX-License-Identifier: GPL-3.0-or-later
// Which layers speak for a policy (field case F034); every answer by hand.
#include "base/layer_kinds.h"

#include <gtest/gtest.h>

#include <string>

namespace ecokv {

namespace {

const std::vector<std::int64_t> kWindows{8, 0, 8, 0};
const std::vector<std::uint8_t> kLinear{0, 0, 0, 1};

} // namespace

TEST(LayerKinds, neitherSlidingNorLinearLayersAreEvicted) {
    const LayerKinds kinds{kWindows, kLinear};
    EXPECT_TRUE(kinds.isSliding(0));
    EXPECT_FALSE(kinds.isEvicted(0));
    EXPECT_TRUE(kinds.isEvicted(1));
    EXPECT_TRUE(kinds.isLinear(3));
    EXPECT_FALSE(kinds.isEvicted(3));
    EXPECT_EQ(kinds.counted(4), (std::vector<bool>{false, true, false, false}));
    EXPECT_EQ(kinds.countedLayers(4), 1);
    EXPECT_EQ(kinds.slidingLeftOut(4), 2);
}

TEST(LayerKinds, withoutListsEveryLayerIsEvicted) {
    EXPECT_TRUE(LayerKinds{}.isEvicted(7));
    EXPECT_EQ(LayerKinds{}.counted(3), (std::vector<bool>{true, true, true}));
    EXPECT_FALSE((LayerKinds{kWindows, kLinear}.isSliding(4))); // beyond the lists
    EXPECT_FALSE((LayerKinds{kWindows, kLinear}.isSliding(-1)));
}

TEST(LayerKinds, whereNothingIsEvictedThoseWithACacheCount) {
    const std::vector<std::int64_t> windows{8, 8, 0};
    const std::vector<std::uint8_t> linear{0, 0, 1};
    const LayerKinds kinds{windows, linear};
    EXPECT_EQ(kinds.counted(3), (std::vector<bool>{true, true, false}));
    EXPECT_EQ(kinds.slidingLeftOut(3), 0);
}

TEST(LayerKinds, picksWhatBelongsToLayersThatCount) {
    const LayerKinds kinds{kWindows, {}};
    const std::vector<int> perHead{0, 1, 10, 11, 20, 21, 30, 31}; // 4 layers x 2 heads
    EXPECT_EQ(kinds.countedOf(perHead, 4), (std::vector<int>{10, 11, 30, 31}));
    EXPECT_EQ(kinds.countedOf(std::vector<std::string>{"a", "b", "c", "d"}, 4),
              (std::vector<std::string>{"b", "d"}));
    EXPECT_TRUE(kinds.countedOf(std::vector<float>{}, 4).empty()); // not measured
}

} // namespace ecokv
