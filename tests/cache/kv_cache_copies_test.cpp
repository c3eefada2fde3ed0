// SPDX-License-Identifier: GPL-3.0-or-later
// Copies of a whole cache and caches put together from stored rows.
#include "cache_fixture.h"

#include "base/error.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace ecokv::cache {
namespace {

using test::appendRange;
using test::firstNumbers;
using test::keyOf;

/// 2 layers x 2 heads; 10 tokens seen; layer 0 keeps different rows in its heads.
KvCache raggedCache() {
    KvCache cache({.layers = 2, .kvHeads = 2, .headDim = 4});
    for (int layer = 0; layer < 2; ++layer) {
        appendRange(cache, layer, 0, 10);
    }
    cache.apply({LayerId{0}, {{0, 4, 9}, {7}}, true});
    return cache;
}

std::vector<std::int64_t> positionsOf(const KvCache& cache, int layer, int head) {
    const auto span = cache.positions(LayerId{layer}, HeadId{head});
    return {span.begin(), span.end()};
}

/// All heads of a cache as restoreLayer() takes them.
std::vector<HeadRows> rowsOf(const KvCache& cache, int layer) {
    std::vector<HeadRows> heads;
    for (std::int32_t head = 0; head < cache.shape().kvHeads; ++head) {
        heads.push_back({cache.keys(LayerId{layer}, HeadId{head}),
                         cache.values(LayerId{layer}, HeadId{head}),
                         cache.positions(LayerId{layer}, HeadId{head})});
    }
    return heads;
}

std::size_t residentBytes() {
    std::ifstream statm("/proc/self/statm");
    std::size_t pages = 0, resident = 0;
    statm >> pages >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

} // namespace

TEST(KvCacheCopies, aCloneHoldsTheSameRowsAndGrowsAlone) {
    const KvCache cache = raggedCache();
    KvCache copy = cache.clone(3);
    EXPECT_EQ(positionsOf(copy, 0, 0), (std::vector<std::int64_t>{0, 4, 9}));
    EXPECT_EQ(positionsOf(copy, 0, 1), (std::vector<std::int64_t>{7}));
    EXPECT_EQ(firstNumbers(copy.keys(LayerId{0}, HeadId{1})), (std::vector{keyOf(0, 1, 7)}));
    EXPECT_EQ(copy.tokensSeen(), 10); // F017: not 3
    EXPECT_EQ(copy.usedBytes(), cache.usedBytes());
    EXPECT_EQ(copy.bytes(), cache.bytes() + 2U * 2 * 2 * 3 * 4 * 4); // K, V, layers, heads, room

    const void* before = copy.keys(LayerId{0}, HeadId{0}).data;
    appendRange(copy, 0, 10, 3);
    EXPECT_EQ(copy.keys(LayerId{0}, HeadId{0}).data, before); // no move within the room
    EXPECT_EQ(copy.length(LayerId{0}, HeadId{1}), 4);
    EXPECT_EQ(cache.length(LayerId{0}, HeadId{1}), 1);
    EXPECT_EQ(cache.tokensSeen(), 10);
}

TEST(KvCacheCopies, aRestoredCacheGoesOnWhereTheOldOneStopped) {
    const KvCache cache = raggedCache();
    KvCache restored(cache.shape());
    restored.reserveForDecode(2);
    for (int layer = 0; layer < 2; ++layer) {
        restored.restoreLayer(LayerId{layer}, rowsOf(cache, layer), cache.tokensSeen());
    }
    EXPECT_EQ(restored.tokensSeen(), 10);
    EXPECT_EQ(restored.usedBytes(), cache.usedBytes());
    for (int head = 0; head < 2; ++head) {
        EXPECT_EQ(positionsOf(restored, 0, head), positionsOf(cache, 0, head));
        EXPECT_EQ(firstNumbers(restored.values(LayerId{0}, HeadId{head})),
                  firstNumbers(cache.values(LayerId{0}, HeadId{head})));
    }
    EXPECT_TRUE(restored.isUniform(LayerId{1}));
    appendRange(restored, 0, 10, 1);
    EXPECT_EQ(positionsOf(restored, 0, 1), (std::vector<std::int64_t>{7, 10}));
    EXPECT_EQ(restored.tokensSeen(), 11);
}

TEST(KvCacheCopies, anEmptyHeadIsRestoredEmpty) {
    KvCache cache({.layers = 1, .kvHeads = 2, .headDim = 4});
    appendRange(cache, 0, 0, 3);
    cache.apply({LayerId{0}, {{}, {1}}, true});
    KvCache restored(cache.shape());
    restored.restoreLayer(LayerId{0}, rowsOf(cache, 0), 3);
    EXPECT_EQ(restored.length(LayerId{0}, HeadId{0}), 0);
    EXPECT_EQ(positionsOf(restored, 0, 1), (std::vector<std::int64_t>{1}));
}

TEST(KvCacheCopies, rowsThatCannotBeAreRefused) {
    const KvCache cache = raggedCache();
    KvCache restored(cache.shape());
    const auto heads = rowsOf(cache, 0);
    EXPECT_THROW(restored.restoreLayer(LayerId{0}, std::span(heads).first(1), 10), Error);
    EXPECT_THROW(restored.restoreLayer(LayerId{0}, heads, 9), Error); // position 9 is held
    const std::vector<std::int64_t> descending{4, 4, 9};
    auto wrong = heads;
    wrong[0].positions = descending;
    EXPECT_THROW(restored.restoreLayer(LayerId{0}, wrong, 10), Error);
    wrong = heads;
    wrong[0].values = heads[1].values;
    EXPECT_THROW(restored.restoreLayer(LayerId{0}, wrong, 10), Error);
}

// F038: what bytes() says is what the process got from the system and gives back to it: layers of
// 32 MB each, half of the tokens evicted.
TEST(KvCacheCopies, megabytesReportedAreMegabytesResident) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizers keep freed memory";
#endif
    constexpr std::int64_t kTokens = 8192;
    constexpr double kMegabyte = 1e6;
    KvCache cache({.layers = 2, .kvHeads = 8, .headDim = 64});
    std::vector<std::int32_t> half;
    for (std::int32_t row = 0; row < kTokens; row += 2) {
        half.push_back(row);
    }
    cache.reserveForDecode(kTokens - 64);
    const auto before = static_cast<double>(residentBytes());
    const auto grown = [&] { return (static_cast<double>(residentBytes()) - before) / kMegabyte; };
    for (int layer = 0; layer < 2; ++layer) {
        for (std::int64_t token = 0; token < kTokens; token += 64) { // in small pieces
            appendRange(cache, layer, token, 64);
        }
    }
    cache.reserveForDecode(0);
    EXPECT_EQ(cache.bytes(), 2U * 2 * 8 * kTokens * 64 * 4); // 67.1 MB
    EXPECT_NEAR(grown(), 67.1, 4.0);                         // positions take 1 MB
    for (int layer = 0; layer < 2; ++layer) {
        cache.apply({LayerId{layer}, std::vector(8, half), true});
    }
    EXPECT_EQ(cache.bytes(), 2U * 2 * 8 * kTokens / 2 * 64 * 4); // 33.6 MB
    EXPECT_NEAR(grown(), 33.6, 4.0);
    cache.clear();
    EXPECT_EQ(cache.bytes(), 0U);
    EXPECT_NEAR(grown(), 0.0, 4.0);
}

} // namespace ecokv::cache
