#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Deterministic top-k of one row of host scores: ties go to the lower index. Thread-safe.

#include "kernels/kernel_types.h"

namespace ecokv::kernels {

/// Writes the indices of the `k` best of `scores` [count] f32, ascending, to `kept` [k].
/// NaN ranks below every number. k > count is BadShape.
Status topK(const float* scores, std::int64_t count, std::int64_t k, std::int32_t* kept,
            Backend backend);

} // namespace ecokv::kernels
