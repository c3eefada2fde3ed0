// SPDX-License-Identifier: GPL-3.0-or-later
// What a cache carries besides rows: rotary positions that are not token numbers, and the states of
// linear layers.
#include "base/error.h"
#include "cache_fixture.h"

#include <gtest/gtest.h>

#include <array>

namespace ecokv::cache {
namespace {

using test::appendRange;

/// 3 text tokens, a picture of 2 rows x 3 columns, 2 text tokens: rows and columns have their own
/// positions, and the text behind goes on at the largest of them.
const std::vector<RopePosition> kPicturePrompt{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 3, 3},
                                               {3, 3, 4}, {3, 3, 5}, {3, 4, 3}, {3, 4, 4},
                                               {3, 4, 5}, {6, 6, 6}, {7, 7, 7}};

TEST(KvCacheUnevicted, F067_textBehindAPictureContinuesAtTheLargestPosition) {
    KvCache cache({.layers = 1, .kvHeads = 1, .headDim = 2});
    appendRange(cache, 0, 0, 11);
    cache.setRopePositions(kPicturePrompt);
    EXPECT_EQ(cache.positionShift(), -3);
    EXPECT_EQ(cache.ropePosition(8), (RopePosition{3, 4, 5}));
    EXPECT_EQ(cache.ropePosition(cache.tokensSeen()), (RopePosition{8, 8, 8}));
    cache.apply({LayerId{0}, {{0, 10}}, true}); // what left does not move the others
    EXPECT_EQ(cache.ropePosition(10), (RopePosition{7, 7, 7}));
    EXPECT_EQ(cache.ropePosition(11), (RopePosition{8, 8, 8}));
}

TEST(KvCacheUnevicted, withoutOtherPositionsATokenTurnsByItsNumber) {
    KvCache cache({.layers = 1, .kvHeads = 1, .headDim = 2});
    EXPECT_EQ(cache.positionShift(), 0);
    EXPECT_EQ(cache.ropePosition(17), (RopePosition{17, 17, 17}));
    cache.setPositionShift(-5);
    EXPECT_EQ(cache.ropePosition(17), (RopePosition{12, 12, 12}));
}

TEST(KvCacheUnevicted, positionsAreClonedAndForgottenByClear) {
    KvCache cache({.layers = 1, .kvHeads = 1, .headDim = 2});
    appendRange(cache, 0, 0, 11);
    cache.setRopePositions(kPicturePrompt);
    const KvCache copy = cache.clone(4);
    cache.clear();
    EXPECT_EQ(cache.positionShift(), 0);
    EXPECT_EQ(cache.ropePosition(8), (RopePosition{8, 8, 8}));
    EXPECT_EQ(copy.positionShift(), -3);
    EXPECT_EQ(copy.ropePosition(8), (RopePosition{3, 4, 5}));
}

/// A recurrent state [head, key, value] and the last inputs of a convolution [channel, step].
struct RecurrentState {
    std::array<float, 12> memory{};
    std::array<float, 6> inputs{};

    std::array<TensorView, 2> views() {
        return {TensorView::contiguous(memory.data(), DType::F32, {2, 3, 2}),
                TensorView::contiguous(inputs.data(), DType::F32, {2, 3})};
    }
};

TEST(KvCacheUnevicted, aLinearLayerKeepsItsStateAndNoRows) {
    KvCache cache({.layers = 2, .kvHeads = 1, .headDim = 2});
    RecurrentState state;
    state.memory.fill(1);
    state.inputs.fill(2);
    cache.setState(LayerId{0}, state.views());
    appendRange(cache, 1, 0, 4);
    EXPECT_EQ(cache.length(LayerId{0}, HeadId{0}), 0);
    EXPECT_EQ(cache.stateBytes(), 18 * sizeof(float));
    EXPECT_EQ(cache.tokensSeen(), 4);
    ASSERT_EQ(cache.state(LayerId{0}).size(), 2U);
    EXPECT_EQ(cache.state(LayerId{0})[0].shape[1], 3);
    EXPECT_TRUE(cache.state(LayerId{1}).empty());
}

// Several questions of one context: what one of them does to the state must not reach the next.
TEST(KvCacheUnevicted, aCloneHasAStateOfItsOwn) {
    KvCache cache({.layers = 1, .kvHeads = 1, .headDim = 2});
    RecurrentState state;
    state.memory.fill(1);
    cache.setState(LayerId{0}, state.views());
    KvCache copy = cache.clone(0);
    copy.state(LayerId{0})[0].as<float>()[5] = 9;
    EXPECT_EQ(cache.state(LayerId{0})[0].as<float>()[5], 1);
    EXPECT_EQ(copy.state(LayerId{0})[0].as<float>()[5], 9);
    cache.copyUnevicted(copy);
    EXPECT_EQ(cache.state(LayerId{0})[0].as<float>()[5], 9);
    cache.clear();
    EXPECT_EQ(cache.stateBytes(), 0U);
}

TEST(KvCacheUnevicted, aStateOfTheSameShapeIsOverwrittenInPlace) {
    KvCache cache({.layers = 1, .kvHeads = 1, .headDim = 2});
    RecurrentState state;
    cache.setState(LayerId{0}, state.views());
    const void* before = cache.state(LayerId{0})[0].data;
    std::array<float, 24> wide{};
    wide[2] = 7; // every second number of `wide` is meant: a strided tensor
    TensorView strided = TensorView::contiguous(wide.data(), DType::F32, {2, 3, 2});
    strided.strides = {12, 4, 2, 0};
    const std::array<TensorView, 2> next{strided, state.views()[1]};
    cache.setState(LayerId{0}, next);
    EXPECT_EQ(cache.state(LayerId{0})[0].data, before);
    EXPECT_EQ(cache.state(LayerId{0})[0].as<float>()[1], 7);
    EXPECT_TRUE(cache.state(LayerId{0})[0].isContiguous());
}

TEST(KvCacheUnevicted, refusesToCopyFromACacheOfOtherLayers) {
    KvCache two({.layers = 2, .kvHeads = 1, .headDim = 2});
    const KvCache one({.layers = 1, .kvHeads = 1, .headDim = 2});
    EXPECT_THROW(two.copyUnevicted(one), Error);
}

} // namespace
} // namespace ecokv::cache
