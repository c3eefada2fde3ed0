#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Ranges for colour scales, and means. Pure functions, any thread.

#include <cstddef>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

namespace ecokv::analysis {

struct FiniteRange {
    float min = 0, max = 0;
    float smallestPositive = 0; ///< lower end of a logarithmic scale, 0 = none (field case F146)
    std::size_t count = 0;      ///< finite values
};

/// The range of the finite values only (F143); nothing if there is none.
std::optional<FiniteRange> finiteRange(std::span<const float> values);

/// Mean of a vector or span, in fp64; NaN for no values, and where one of them is NaN.
template <std::ranges::sized_range Values> double meanOf(const Values& values) {
    double sum = 0;
    for (const auto value : values) {
        sum += static_cast<double>(value);
    }
    return std::ranges::empty(values) ? std::numeric_limits<double>::quiet_NaN()
                                      : sum / static_cast<double>(std::ranges::size(values));
}

/// The finite ones of `values`: heads of layers without a KV cache have no numbers.
std::vector<float> finiteOf(std::span<const float> values);

} // namespace ecokv::analysis
