// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/replay_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace ecokv::analysis {

namespace {

/// Gets `key` of `bytes`; counts how often it had to be made.
int get(ReplayCache& cache, const std::string& key, std::size_t bytes, int& made) {
    return *cache.get<int>(
        key,
        [&] {
            ++made;
            return std::make_shared<const int>(static_cast<int>(bytes));
        },
        [bytes](const int&) { return bytes; });
}

} // namespace

TEST(ReplayCache, makesAnEntryOnce) {
    ReplayCache cache(100);
    int made = 0;
    cache.beginPass();
    EXPECT_EQ(get(cache, "a", 40, made), 40);
    EXPECT_EQ(get(cache, "a", 40, made), 40);
    EXPECT_EQ(made, 1);
    EXPECT_EQ(cache.hits(), 1);
    EXPECT_EQ(cache.misses(), 1);
    EXPECT_EQ(cache.bytes(), 40U);
}

TEST(ReplayCache, throwsOutWhatWasLongestUnused) {
    ReplayCache cache(100);
    int made = 0;
    for (const char* key : {"a", "b"}) {
        cache.beginPass();
        get(cache, key, 40, made);
    }
    cache.beginPass();
    get(cache, "a", 40, made); // now b is the oldest
    cache.beginPass();
    get(cache, "c", 40, made);
    EXPECT_EQ(made, 3);
    EXPECT_EQ(cache.bytes(), 80U);
    get(cache, "a", 40, made);
    EXPECT_EQ(made, 3);
    get(cache, "b", 40, made);
    EXPECT_EQ(made, 4);
}

TEST(ReplayCache, neverHoldsMoreThanItsLimit) {
    ReplayCache cache(100);
    int made = 0;
    for (int i = 0; i < 50; ++i) {
        cache.beginPass();
        get(cache, std::to_string(i), 7 + static_cast<std::size_t>(i) % 13, made);
        EXPECT_LE(cache.bytes(), 100U);
    }
    EXPECT_GT(cache.entries(), 4U);
}

TEST(ReplayCache, aPassOverMoreThanFitsKeepsItsFirstEntries) {
    ReplayCache cache(100);
    int made = 0;
    for (int pass = 0; pass < 3; ++pass) {
        cache.beginPass();
        for (int layer = 0; layer < 10; ++layer) {
            get(cache, std::to_string(layer), 20, made);
        }
    }
    EXPECT_EQ(made, 10 + 5 + 5); // plain LRU would make all 30
}

TEST(ReplayCache, anEntryBeyondTheLimitIsGivenButNotKept) {
    ReplayCache cache(100);
    int made = 0;
    cache.beginPass();
    EXPECT_EQ(get(cache, "huge", 101, made), 101);
    EXPECT_EQ(get(cache, "huge", 101, made), 101);
    EXPECT_EQ(made, 2);
    EXPECT_EQ(cache.bytes(), 0U);
}

TEST(ReplayCache, whatACallerHoldsOutlivesTheEntry) {
    ReplayCache cache(100);
    const auto held = cache.get<std::string>(
        "a", [] { return std::make_shared<const std::string>("kept"); },
        [](const std::string&) { return std::size_t{90}; });
    int made = 0;
    cache.beginPass();
    get(cache, "b", 90, made);
    EXPECT_EQ(cache.entries(), 1U);
    EXPECT_EQ(*held, "kept");
}

} // namespace ecokv::analysis
