// SPDX-License-Identifier: GPL-3.0-or-later
// Tokens per head while an answer is generated; every number by hand (field case F030).
#include "analysis/cache_length.h"

#include <gtest/gtest.h>

namespace ecokv::analysis {

namespace {

/// 2 layers of 2 heads, 2 steps.
const std::vector<std::int32_t> kLengths = {4, 8, 6, 20, 5, 9, 7, 21};

TraceDocument documentOf(std::vector<std::int64_t> slidingWindows) {
    TraceDocument document;
    document.dimensions.layers = 2;
    document.dimensions.kvHeads = 2;
    document.model.emplace();
    document.model->slidingWindows = std::move(slidingWindows);
    PolicyView view;
    view.decode.emplace();
    view.decode->tokenText = {"4,", "7"};
    view.decode->keptLength = kLengths;
    document.policies.push_back(std::move(view));
    return document;
}

} // namespace

TEST(CacheLength, isMeanAndLongestOverTheHeadsOfAStepF030) {
    const TraceDocument document = documentOf({});
    const CacheLengths lengths = cacheLengths(document, document.policies[0]);
    EXPECT_EQ(lengths.mean, (std::vector<double>{9.5, 10.5})); // (4 + 8 + 6 + 20) / 4
    EXPECT_EQ(lengths.longest, (std::vector<std::int64_t>{20, 21}));
    EXPECT_EQ(lengths.slidingLayers, 0);
}

TEST(CacheLength, leavesSlidingLayersOut) {
    const TraceDocument document = documentOf({0, 64});
    const CacheLengths lengths = cacheLengths(document, document.policies[0]);
    EXPECT_EQ(lengths.mean, (std::vector<double>{6, 7})); // (4 + 8) / 2
    EXPECT_EQ(lengths.longest, (std::vector<std::int64_t>{8, 9}));
    EXPECT_EQ(lengths.slidingLayers, 1);
}

TEST(CacheLength, countsEverythingWhereEveryLayerSlides) {
    const TraceDocument document = documentOf({64, 64});
    EXPECT_EQ(cacheLengths(document, document.policies[0]).longest,
              (std::vector<std::int64_t>{20, 21}));
}

TEST(CacheLength, isEmptyWhereNothingWasRecorded) {
    TraceDocument document = documentOf({});
    document.policies[0].decode->keptLength.clear();
    EXPECT_TRUE(cacheLengths(document, document.policies[0]).empty());
    document.policies[0].decode.reset();
    EXPECT_TRUE(cacheLengths(document, document.policies[0]).empty());
    EXPECT_TRUE(cacheLengths({kLengths, 0, 0, {}}).empty());
}

TEST(CacheLength, readsTheBoundThatHeld) {
    const auto bound = decodeBound("every 16 tokens to 64");
    ASSERT_TRUE(bound.has_value());
    EXPECT_EQ(bound->budget, 64);
    EXPECT_EQ(bound->every, 16);
    EXPECT_EQ(bound->most(), 79); // 64 + 16 - 1
    EXPECT_FALSE(decodeBound("prefill-only").has_value());
    EXPECT_FALSE(decodeBound("").has_value());
}

TEST(CacheLength, tableHasOneRowPerStep) {
    const TraceDocument document = documentOf({});
    const std::string csv = cacheLengthCsv(document, document.policies[0]);
    EXPECT_EQ(csv.substr(csv.find('\n') + 1), "step,text,mean_tokens_per_head,longest_head\n"
                                              "0,\"4,\",9.5,20\n"
                                              "1,7,10.5,21\n");
}

} // namespace ecokv::analysis
