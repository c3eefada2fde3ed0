#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Whole numbers of tokens that add up exactly: shares by weight between limits, and rounding by
// largest remainder (field cases F007, F008, F025). Pure functions.

#include <cstdint>
#include <span>
#include <vector>

namespace ecokv::policy {

/// The least and the most a head may get.
struct ShareLimits {
    std::int64_t low = 0, high = 0;
};

/// Rounds `shares` to whole numbers within their limits that sum to `total`, which lies between the
/// sums of the limits: each is rounded down, what is missing goes to the largest remainders, ties
/// to the earlier one.
std::vector<std::int64_t> roundExactly(std::span<const double> shares,
                                       std::span<const ShareLimits> limits, std::int64_t total);

/// `base` each and the rest of `total` in proportion to `weights` (>= 0, one of them > 0); heads
/// that would leave their limits get the limit, the others share what that leaves. Sums to `total`.
std::vector<std::int64_t> shareByWeight(std::span<const double> weights, std::int64_t base,
                                        std::span<const ShareLimits> limits, std::int64_t total);

} // namespace ecokv::policy
