#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Ranges for colour scales. Pure functions, any thread.

#include <cstddef>
#include <optional>
#include <span>

namespace ecokv::analysis {

struct FiniteRange {
    float min = 0, max = 0;
    float smallestPositive = 0; ///< lower end of a logarithmic scale, 0 = none (field case F146)
    std::size_t count = 0;      ///< finite values
};

/// The range of the finite values only (F143); nothing if there is none.
std::optional<FiniteRange> finiteRange(std::span<const float> values);

} // namespace ecokv::analysis
