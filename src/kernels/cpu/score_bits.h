#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: scores as unsigned integers of the same order, and the sweep that collects the best;
// vectorised in score_bits.cpp.

#include <cstdint>

namespace ecokv::kernels::cpu {

/// Larger score, larger number; -0 equals +0; every NaN is 0, below every number.
void orderedBits(const float* scores, std::int64_t count, std::uint32_t* bits);

/// Writes the indices of all entries above `threshold` and of the first `ties` equal ones,
/// ascending, to `kept` [k]; their number must be k.
void collectFrom(const std::uint32_t* bits, std::int64_t count, std::uint32_t threshold,
                 std::int64_t ties, std::int32_t* kept, std::int64_t k);

} // namespace ecokv::kernels::cpu
