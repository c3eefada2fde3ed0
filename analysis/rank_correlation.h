#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Rank statistics of paired samples. Pure functions, any thread.

#include <span>
#include <vector>

namespace ecokv::analysis {

/// Ranks from 1, equal values share the mean of their ranks.
std::vector<double> averageRanks(std::span<const float> values);

/// Spearman's rank correlation, -1..1; NaN for fewer than two pairs or a constant side. Values must
/// be finite. Throws Error{Internal} if the lengths differ.
double spearman(std::span<const float> x, std::span<const float> y);

} // namespace ecokv::analysis
