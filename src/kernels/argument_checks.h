#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: the checks of tensor arguments that every launcher shares.

#include "kernels/kernel_types.h"

namespace ecokv::kernels {

/// A tensor of `rank` dimensions, float32/bfloat16/float16, unit stride in the last one, living
/// where `backend` runs.
Status checkFloatTensor(const TensorView& tensor, std::size_t rank, Backend backend);
/// Odd sizes of rotary pairs and missing tables are BadShape.
Status checkRotation(const Rotation& rotation, std::int64_t dim);

} // namespace ecokv::kernels
