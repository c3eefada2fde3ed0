// SPDX-License-Identifier: GPL-3.0-or-later
#include "cache_fixture.h"

#include <gtest/gtest.h>

namespace ecokv::cache {
namespace {

using test::appendRange;
using test::firstNumbers;
using test::keyOf;

using Positions = std::vector<std::int64_t>;

Positions positionsOf(const KvCache& cache, int layer, int head) {
    const auto span = cache.positions(LayerId{layer}, HeadId{head});
    return {span.begin(), span.end()};
}

TEST(KvCache, appendedRowsComeBackPerHeadInOrder) {
    KvCache cache({.layers = 2, .kvHeads = 3, .headDim = 4});
    appendRange(cache, 1, 0, 5);
    appendRange(cache, 1, 5, 2);
    for (int head = 0; head < 3; ++head) {
        const auto keys = firstNumbers(cache.keys(LayerId{1}, HeadId{head}));
        const auto values = firstNumbers(cache.values(LayerId{1}, HeadId{head}));
        ASSERT_EQ(keys.size(), 7U);
        for (int token = 0; token < 7; ++token) {
            EXPECT_EQ(keys[static_cast<std::size_t>(token)], keyOf(1, head, token));
            EXPECT_EQ(values[static_cast<std::size_t>(token)], -keyOf(1, head, token));
        }
    }
    EXPECT_EQ(cache.length(LayerId{0}, HeadId{0}), 0);
}

TEST(KvCache, uniformHeadsFormOneViewOfTheLayer) {
    KvCache cache({.layers = 1, .kvHeads = 2, .headDim = 4});
    cache.reserveForDecode(3); // spare rows lie between the heads of the view
    appendRange(cache, 0, 0, 6);
    cache.apply({LayerId{0}, {{0, 2, 5}, {1, 2, 3}}, true});
    ASSERT_TRUE(cache.isUniform(LayerId{0}));
    const TensorView keys = cache.layerKeys(LayerId{0});
    ASSERT_EQ(keys.rank, 3U);
    EXPECT_EQ(keys.shape[0], 2);
    EXPECT_EQ(keys.shape[1], 3);
    EXPECT_EQ(keys.shape[2], 4);
    EXPECT_EQ(firstNumbers(keys[0]), (std::vector<float>{0, 2, 5}));
    EXPECT_EQ(firstNumbers(keys[1]), (std::vector<float>{101, 102, 103}));
    EXPECT_EQ(firstNumbers(cache.layerValues(LayerId{0})[1]),
              (std::vector<float>{-101, -102, -103}));
}

TEST(KvCache, raggedHeadsKeepTheirOwnRowsAndGoOnGrowing) {
    KvCache cache({.layers = 1, .kvHeads = 3, .headDim = 2});
    appendRange(cache, 0, 0, 5);
    cache.apply({LayerId{0}, {{4}, {0, 1, 2, 3, 4}, {}}, true});
    EXPECT_FALSE(cache.isUniform(LayerId{0}));
    appendRange(cache, 0, 5, 1);
    EXPECT_EQ(positionsOf(cache, 0, 0), (Positions{4, 5}));
    EXPECT_EQ(positionsOf(cache, 0, 1), (Positions{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(positionsOf(cache, 0, 2), (Positions{5}));
    EXPECT_EQ(firstNumbers(cache.keys(LayerId{0}, HeadId{0})), (std::vector<float>{4, 5}));
    EXPECT_EQ(firstNumbers(cache.keys(LayerId{0}, HeadId{2})), (std::vector<float>{205}));
    EXPECT_EQ(firstNumbers(cache.values(LayerId{0}, HeadId{1})),
              (std::vector<float>{-100, -101, -102, -103, -104, -105}));
}

// F017: the next rotary position is what was seen, not what is left; kept keys stay as rotated.
TEST(KvCache, nextPositionCountsEvictedTokens) {
    KvCache cache({.layers = 2, .kvHeads = 1, .headDim = 2});
    appendRange(cache, 0, 0, 300);
    LayerPlan plan{LayerId{0}, {{}}, true};
    for (std::int32_t row = 172; row < 300; ++row) {
        plan.keptRows[0].push_back(row);
    }
    cache.apply(plan);
    EXPECT_EQ(cache.length(LayerId{0}, HeadId{0}), 128);
    EXPECT_EQ(cache.tokensSeen(), 300);
    appendRange(cache, 0, 300, 1);
    EXPECT_EQ(cache.tokensSeen(), 301);
    EXPECT_EQ(positionsOf(cache, 0, 0).front(), 172);
    EXPECT_EQ(positionsOf(cache, 0, 0).back(), 300);
    EXPECT_EQ(firstNumbers(cache.keys(LayerId{0}, HeadId{0})).front(), 172.0F);
}

TEST(KvCache, aSecondPlanSpeaksOfTheRowsThatAreLeft) {
    KvCache cache({.layers = 1, .kvHeads = 2, .headDim = 2});
    appendRange(cache, 0, 0, 8);
    cache.apply({LayerId{0}, {{1, 3, 5, 7}, {0, 1, 2, 3}}, true});
    cache.apply({LayerId{0}, {{0, 2}, {1, 3}}, true});
    EXPECT_EQ(positionsOf(cache, 0, 0), (Positions{1, 5}));
    EXPECT_EQ(positionsOf(cache, 0, 1), (Positions{1, 3}));
    EXPECT_EQ(firstNumbers(cache.keys(LayerId{0}, HeadId{0})), (std::vector<float>{1, 5}));
    EXPECT_EQ(firstNumbers(cache.keys(LayerId{0}, HeadId{1})), (std::vector<float>{101, 103}));
}

TEST(KvCache, aPlanThatKeepsEverythingMovesNothing) {
    KvCache cache({.layers = 1, .kvHeads = 1, .headDim = 2});
    appendRange(cache, 0, 0, 3);
    const void* before = cache.keys(LayerId{0}, HeadId{0}).data;
    cache.apply({LayerId{0}, {{0, 1, 2}}, false});
    EXPECT_EQ(cache.keys(LayerId{0}, HeadId{0}).data, before);
    EXPECT_EQ(cache.length(LayerId{0}, HeadId{0}), 3);
}

TEST(KvCache, appendReadsStridedViews) {
    KvCache cache({.layers = 1, .kvHeads = 2, .headDim = 2});
    // [token, kvHead, dim], as a projection leaves it; the view swaps the first two dimensions.
    std::vector<float> data = {0, 0, 100, 100, 1, 1, 101, 101, 2, 2, 102, 102};
    TensorView view = TensorView::contiguous(data.data(), DType::F32, {2, 3, 2});
    view.strides = {2, 4, 1};
    const Positions positions{0, 1, 2};
    cache.append(LayerId{0}, view, view, positions);
    EXPECT_EQ(firstNumbers(cache.keys(LayerId{0}, HeadId{1})), (std::vector<float>{100, 101, 102}));
}

TEST(KvCache, storesTwoByteNumbersBitForBit) {
    KvCache cache({.layers = 1, .kvHeads = 1, .headDim = 2, .dtype = DType::BF16});
    std::vector<std::uint16_t> bits = {0x3f80, 0x7fc1, 0x0001, 0xff80}; // 1, NaN, subnormal, -inf
    const TensorView view = TensorView::contiguous(bits.data(), DType::BF16, {1, 2, 2});
    cache.append(LayerId{0}, view, view, Positions{0, 1});
    cache.apply({LayerId{0}, {{1}}, true});
    const auto* kept = cache.keys(LayerId{0}, HeadId{0}).as<std::uint16_t>();
    EXPECT_EQ(kept[0], 0x0001);
    EXPECT_EQ(kept[1], 0xff80);
}

TEST(KvCache, copyLayerIsIndependentOfItsSource) {
    const CacheShape shape{.layers = 2, .kvHeads = 2, .headDim = 2};
    KvCache source(shape);
    appendRange(source, 1, 0, 4);
    KvCache copy(shape);
    copy.copyLayer(source, LayerId{1});
    copy.apply({LayerId{1}, {{0}, {3}}, true});
    EXPECT_EQ(source.length(LayerId{1}, HeadId{0}), 4);
    EXPECT_EQ(firstNumbers(copy.keys(LayerId{1}, HeadId{1})), (std::vector<float>{1103}));
    EXPECT_EQ(firstNumbers(source.keys(LayerId{1}, HeadId{1})),
              (std::vector<float>{1100, 1101, 1102, 1103}));
    EXPECT_EQ(copy.tokensSeen(), 4);
}

// F009: nothing of a run outlives clear().
TEST(KvCache, clearForgetsRowsPositionsAndMemory) {
    KvCache cache({.layers = 1, .kvHeads = 1, .headDim = 2});
    appendRange(cache, 0, 0, 9);
    cache.clear();
    EXPECT_EQ(cache.bytes(), 0U);
    EXPECT_EQ(cache.tokensSeen(), 0);
    appendRange(cache, 0, 0, 2);
    EXPECT_EQ(positionsOf(cache, 0, 0), (Positions{0, 1}));
}

} // namespace
} // namespace ecokv::cache
