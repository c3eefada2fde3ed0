// SPDX-License-Identifier: GPL-3.0-or-later
// Sliding layers while an answer is generated (field case F034).
#include "session/generated.h"
#include "session/history_lengths.h"

#include <gtest/gtest.h>

#include <iterator>
#include <numeric>

namespace ecokv::session {

// F034: its window bounds a sliding layer, so it keeps every row, loses none to the record, and
// what was measured is what the heads hold.
TEST(SlidingLayers, areLeftAloneByEvictionWhileAnswering) {
    DecodeEvictionSetup setup = setupOf("ecokv", "pyramid", 12, 5);
    setup.shape.slidingWindows = {0, 20, 0};
    DecodeEvictor evictor(setup);
    const Generated run = generate(&evictor, 40, 31); // step 30 evicts: 70 tokens were seen
    std::vector<std::int64_t> all(70);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(positionsOf(run.cache, 1, 0), all);
    EXPECT_EQ(positionsOf(run.cache, 1, 1), all);
    const std::size_t others =
        positionsOf(run.cache, 0, 0).size() + positionsOf(run.cache, 0, 1).size() +
        positionsOf(run.cache, 2, 0).size() + positionsOf(run.cache, 2, 1).size();
    EXPECT_EQ(others, 4U * 11); // 12 with the token that comes
    const CacheHistory& history = run.answer.cache;
    for (const Eviction& eviction : history.evictions) {
        EXPECT_NE(eviction.layer, 1);
    }
    EXPECT_EQ(history.evictions.size(), 4U * 70 - others);
    for (const std::int64_t step : {0, 7, 30}) {
        const std::vector<std::int64_t> lengths = lengthsAt(history, step);
        EXPECT_EQ(lengths[2], 41 + step); // prompt, answer so far, the token that comes
        const auto rows = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) -
                          std::ssize(lengths); // the tokens that come are not stored yet
        EXPECT_GE(history.bytes[static_cast<std::size_t>(step)],
                  static_cast<std::uint64_t>(rows) * kRowBytes)
            << step;
    }
}

} // namespace ecokv::session
