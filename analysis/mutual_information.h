#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How much one quantity tells about another, whatever the shape of the relation. Pure functions,
// any thread.

#include <span>
#include <vector>

namespace ecokv::analysis {

/// Bins for `count` pairs: sqrt(count / 5), 2..16, so that independent quantities fill every cell
/// of the histogram with about five pairs or more.
int defaultBins(std::size_t count);

/// Bin 0..bins-1 of each value by rank, as equal in number as ties allow: floor((rank - 1/2) *
/// bins / n) with mean ranks, so that equal values share a bin.
std::vector<int> equalFrequencyBins(std::span<const float> values, int bins);

/// Mutual information in nats of the histogram over equal-frequency bins, with the Miller-Madow
/// correction (K_x + K_y - K_xy - 1) / 2n of its bias, K the occupied bins and cells, and not below
/// 0. `bins` 0: defaultBins. NaN for fewer than two pairs. Values must be finite. Throws
/// Error{Internal} if the lengths differ.
double mutualInformation(std::span<const float> x, std::span<const float> y, int bins = 0);

} // namespace ecokv::analysis
