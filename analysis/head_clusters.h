#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Which heads keep the same tokens: agglomerative clustering of heads by the Jaccard distance of
// their survivors, average linkage. Pure functions, any thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ecokv::analysis {

/// 1 - |A and B| / |A or B| of every two of `items` masks [item, token] (1 = kept), as a matrix
/// [item, item]. Two empty sets are equal: 0.
std::vector<double> jaccardDistances(std::span<const std::uint8_t> masks, std::size_t items);

/// One merge, as scipy.cluster.hierarchy.linkage writes it: clusters below the number of items are
/// single items, cluster n + i came from merge i; a < b.
struct ClusterMerge {
    int a = 0, b = 0;
    double distance = 0; ///< mean distance between members of the two
    int size = 0;        ///< items in the merged cluster
};

struct HeadClusters {
    std::vector<ClusterMerge> merges; ///< [items - 1] nearest first
    std::vector<int> order;           ///< [item] leaves from left to right, for heat maps
};

/// Average linkage (UPGMA) of a symmetric matrix [item, item]; equal distances as in scipy 1.17
/// (nearest-neighbour chain).
HeadClusters averageLinkage(const std::vector<double>& distances, std::size_t items);

/// [item] cluster numbers from 0 (by first item) after all merges up to `distance`.
std::vector<int> cutClusters(const HeadClusters& clusters, double distance);

} // namespace ecokv::analysis
