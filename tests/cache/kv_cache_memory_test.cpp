// SPDX-License-Identifier: GPL-3.0-or-later
#include "cache_fixture.h"

#include <gtest/gtest.h>
#include <malloc.h>

namespace ecokv::cache {
namespace {

using test::appendRange;

std::size_t heapInUse() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

std::vector<std::int32_t> firstRows(std::int32_t count) {
    std::vector<std::int32_t> rows(static_cast<std::size_t>(count));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

// F015, F038: rows are stored once per KV head. 2 layers x 2 KV heads x 12 tokens, later 6 kept.
TEST(KvCacheMemory, bytesFollowKvHeadsNotQueryHeads) {
    KvCache cache({.layers = 2, .kvHeads = 2, .headDim = 8});
    for (int layer = 0; layer < 2; ++layer) {
        appendRange(cache, layer, 0, 12);
    }
    EXPECT_EQ(cache.bytes(), 2U * 2 * 2 * 12 * 8 * 4); // K and V, layers, heads, tokens, dim, f32
    for (int layer = 0; layer < 2; ++layer) {
        cache.apply({LayerId{layer}, {firstRows(6), firstRows(6)}, true});
    }
    EXPECT_EQ(cache.bytes(), 2U * 2 * 2 * 6 * 8 * 4);
    EXPECT_EQ(cache.usedBytes(), cache.bytes());
}

TEST(KvCacheMemory, bytesEqualWhatTheHeapGivesAndTakesBack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizers replace the allocator that mallinfo2 reports on";
#endif
    constexpr std::int64_t kTokens = 1000; // below the size that is mapped past the heap
    KvCache cache({.layers = 1, .kvHeads = 4, .headDim = 64});
    // 4 heads x 2000 positions of 8 bytes, and what malloc rounds to pages.
    const std::size_t positionBytes = 4 * kTokens * 8;
    const std::size_t slack = 4 * 4096;
    const std::size_t before = heapInUse();
    appendRange(cache, 0, 0, kTokens);
    const std::size_t full = heapInUse() - before;
    EXPECT_EQ(cache.bytes(), 2U * 4 * kTokens * 64 * 4);
    EXPECT_GE(full, cache.bytes());
    EXPECT_LE(full, cache.bytes() + positionBytes + slack);

    const auto rows = firstRows(100);
    cache.apply({LayerId{0}, {rows, rows, rows, rows}, true});
    const std::size_t compact = heapInUse() - before;
    EXPECT_EQ(cache.bytes(), 2U * 4 * 100 * 64 * 4);
    EXPECT_GE(compact, cache.bytes());
    EXPECT_LE(compact, cache.bytes() + 4 * 100 * 8 + 4 * 100 * 4 + slack);
}

TEST(KvCacheMemory, raggedHeadsPayForTheirOwnRowsOnly) {
    KvCache cache({.layers = 1, .kvHeads = 3, .headDim = 16});
    appendRange(cache, 0, 0, 40);
    cache.apply({LayerId{0}, {firstRows(1), firstRows(30), firstRows(5)}, true});
    EXPECT_EQ(cache.bytes(), 2U * 36 * 16 * 4);
    EXPECT_EQ(cache.usedBytes(), 2U * 36 * 16 * 4);
}

TEST(KvCacheMemory, decodeUsesTheReserveThenGrowsByHalf) {
    KvCache cache({.layers = 1, .kvHeads = 1, .headDim = 4});
    const std::size_t row = 2 * 4 * 4; // key and value of one token
    cache.reserveForDecode(4);
    appendRange(cache, 0, 0, 20);
    EXPECT_EQ(cache.bytes(), 24 * row);
    cache.apply({LayerId{0}, {firstRows(10)}, true});
    EXPECT_EQ(cache.bytes(), 14 * row);
    EXPECT_EQ(cache.usedBytes(), 10 * row);
    const void* before = cache.keys(LayerId{0}, HeadId{0}).data;
    for (int step = 0; step < 4; ++step) {
        appendRange(cache, 0, 20 + step, 1);
    }
    EXPECT_EQ(cache.keys(LayerId{0}, HeadId{0}).data, before); // no move within the reserve
    EXPECT_EQ(cache.bytes(), 14 * row);
    appendRange(cache, 0, 24, 1);
    EXPECT_EQ(cache.bytes(), 21 * row); // 14 rows and half as many again
    EXPECT_EQ(cache.usedBytes(), 15 * row);
}

// A long answer must not copy the cache at every token.
TEST(KvCacheMemory, growthMovesTheRowsLogarithmicallyOften) {
    KvCache cache({.layers = 1, .kvHeads = 1, .headDim = 4});
    std::size_t moves = 0;
    std::size_t bytes = 0;
    for (int token = 0; token < 1000; ++token) {
        appendRange(cache, 0, token, 1);
        moves += cache.bytes() != bytes ? 1 : 0;
        bytes = cache.bytes();
    }
    EXPECT_LE(moves, 20U); // log(1000) / log(1.5) = 17
    EXPECT_LE(cache.bytes(), cache.usedBytes() * 3 / 2);
}

/// A prompt of 30 in pieces of 10, with room for 5 generated tokens: one allocation, no row moves.
TEST(KvCacheMemory, piecesOfAReservedPromptStayWhereTheyAre) {
    KvCache cache({.layers = 1, .kvHeads = 2, .headDim = 8});
    cache.reserveForDecode(5);
    cache.reserve(LayerId{0}, 30);
    EXPECT_EQ(cache.bytes(), 2U * 2 * 35 * 8 * 4);
    appendRange(cache, 0, 0, 10);
    const void* rows = cache.keys(LayerId{0}, HeadId{1}).data;
    appendRange(cache, 0, 10, 10);
    appendRange(cache, 0, 20, 10);
    EXPECT_EQ(cache.keys(LayerId{0}, HeadId{1}).data, rows);
    EXPECT_EQ(cache.bytes(), 2U * 2 * 35 * 8 * 4);
    EXPECT_EQ(cache.length(LayerId{0}, HeadId{1}), 30);
    cache.reserve(LayerId{0}, 0); // there is room enough
    EXPECT_EQ(cache.keys(LayerId{0}, HeadId{1}).data, rows);
}

TEST(KvCacheMemory, reserveAskedAfterPrefillComesWithTheNextAppend) {
    KvCache cache({.layers = 1, .kvHeads = 2, .headDim = 4});
    const std::size_t row = 2 * 2 * 4 * 4;
    appendRange(cache, 0, 0, 5);
    EXPECT_EQ(cache.bytes(), 5 * row);
    cache.reserveForDecode(8);
    EXPECT_EQ(cache.bytes(), 5 * row);
    appendRange(cache, 0, 5, 1);
    EXPECT_EQ(cache.bytes(), 14 * row); // 6 rows and room for 8
}

TEST(KvCacheMemory, movedFromCacheGivesItsMemoryToTheNewOwner) {
    KvCache cache({.layers = 1, .kvHeads = 1, .headDim = 4});
    appendRange(cache, 0, 0, 5);
    const KvCache owner = std::move(cache);
    EXPECT_EQ(owner.bytes(), 2U * 5 * 4 * 4);
    EXPECT_EQ(owner.length(LayerId{0}, HeadId{0}), 5);
}

} // namespace
} // namespace ecokv::cache
