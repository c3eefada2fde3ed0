// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/geometry_summary.h"
#include "analysis/head_clusters.h"
#include "base/error.h"
#include "support/sample_trace.h"

#include <gtest/gtest.h>

#include <set>

namespace ecokv::analysis {

namespace {

constexpr std::size_t kItems = 7, kTokens = 40;

std::vector<std::uint8_t> masks() {
    std::vector<std::uint8_t> result;
    for (std::size_t i = 0; i < kItems; ++i) {
        for (std::size_t t = 0; t < kTokens; ++t) {
            result.push_back((t * (i + 3) + i * i) % 5 < 2 || (i < 3 && t < 12) ? 1 : 0);
        }
    }
    return result;
}

void expectMerge(const ClusterMerge& merge, int a, int b, double distance, int size) {
    EXPECT_EQ(merge.a, a);
    EXPECT_EQ(merge.b, b);
    EXPECT_NEAR(merge.distance, distance, 1e-14);
    EXPECT_EQ(merge.size, size);
}

} // namespace

TEST(JaccardDistance, isOneMinusTheOverlap) {
    const std::vector<std::uint8_t> kept{1, 1, 0, 0, //
                                         0, 1, 1, 0, //
                                         0, 0, 0, 0, //
                                         0, 0, 0, 0};
    const auto distances = jaccardDistances(kept, 4);
    EXPECT_DOUBLE_EQ(distances[0 * 4 + 1], 1 - 1.0 / 3);
    EXPECT_DOUBLE_EQ(distances[1 * 4 + 0], 1 - 1.0 / 3);
    EXPECT_DOUBLE_EQ(distances[0 * 4 + 2], 1);
    EXPECT_DOUBLE_EQ(distances[2 * 4 + 3], 0); // two empty sets are equal
    EXPECT_DOUBLE_EQ(distances[0], 0);
    EXPECT_THROW(jaccardDistances(kept, 3), Error);
}

// scipy 1.17.1: linkage(pdist(masks, "jaccard"), "average") and leaves_list.
TEST(HeadClusters, mergeAsScipyDoes) {
    const auto clusters = averageLinkage(jaccardDistances(masks(), kItems), kItems);
    ASSERT_EQ(clusters.merges.size(), 6U);
    expectMerge(clusters.merges[0], 4, 5, 0, 2);
    expectMerge(clusters.merges[1], 1, 6, 0.2727272727272727, 2);
    expectMerge(clusters.merges[2], 0, 7, 0.30434782608695654, 3);
    expectMerge(clusters.merges[3], 2, 8, 0.5909090909090909, 3);
    expectMerge(clusters.merges[4], 9, 10, 0.6291695422130205, 6);
    expectMerge(clusters.merges[5], 3, 11, 0.6721014492753623, 7);
    EXPECT_EQ(clusters.order, (std::vector<int>{3, 0, 4, 5, 2, 1, 6}));
}

// fcluster(Z, t, "distance"), numbered by first member.
TEST(HeadClusters, cutAsScipyDoes) {
    const auto clusters = averageLinkage(jaccardDistances(masks(), kItems), kItems);
    EXPECT_EQ(cutClusters(clusters, 0.3), (std::vector<int>{0, 1, 2, 3, 4, 4, 1}));
    EXPECT_EQ(cutClusters(clusters, 0.5), (std::vector<int>{0, 1, 2, 3, 0, 0, 1}));
    EXPECT_EQ(cutClusters(clusters, 0.62), (std::vector<int>{0, 1, 1, 2, 0, 0, 1}));
    EXPECT_EQ(cutClusters(clusters, 0.7), std::vector<int>(7, 0));
    EXPECT_EQ(cutClusters(clusters, -1), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(HeadClusters, oneHeadAndNoneAreATreeToo) {
    const auto one = averageLinkage({0.0}, 1);
    EXPECT_TRUE(one.merges.empty());
    EXPECT_EQ(one.order, std::vector<int>{0});
    EXPECT_EQ(cutClusters(one, 1), std::vector<int>{0});
    EXPECT_TRUE(averageLinkage({}, 0).order.empty());
    EXPECT_THROW(averageLinkage({0.0, 1.0}, 2), Error);
}

TEST(HeadClusters, ofATraceAreWithinALayerOrOverAllOfThem) {
    const test::TemporaryFolder folder;
    const trace::TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5"));
    const auto kept = reader.policy("0").kept;
    // (token + layer + head) % 3: heads whose layer + head agree modulo 3 keep the same tokens.
    const auto all = clusterSurvivors(reader.dimensions(), {"0", kept});
    const auto labels = cutClusters(all.clusters, 1e-9);
    EXPECT_EQ(labels, (std::vector<int>{0, 1, 1, 2, 2, 0, 0, 1}));
    const auto layer = clusterSurvivors(reader.dimensions(), {"0", kept}, 2);
    EXPECT_EQ(layer.firstHead, 4);
    EXPECT_EQ(layer.clusters.order.size(), 2U);
    EXPECT_DOUBLE_EQ(layer.distances[1], all.distances[4 * 8 + 5]);
    EXPECT_THROW(clusterSurvivors(reader.dimensions(), {"0", kept}, 4), Error);
}

} // namespace ecokv::analysis
