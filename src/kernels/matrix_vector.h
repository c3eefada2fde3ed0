#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One row through a linear layer: the products that decoding a token consists of. They read every
// weight once, so the memory's rate is their bound. CPU only; any thread.

#include "kernels/kernel_types.h"

namespace ecokv::kernels {

/// All of one dtype (f32 or bf16: what is computed with on a CPU) on the host, unit strides.
struct MatrixVectorInput {
    TensorView weight; ///< [out, in]; rows may be further apart than `in`
    TensorView row;    ///< [in]
    TensorView bias;   ///< [out]; without data: none
};

/// output [out] = weight row + bias, summed in f32 in an order that no number of threads changes,
/// rounded once to the dtype. NaN and infinities go the way of IEEE arithmetic.
Status matrixVector(const MatrixVectorInput& input, const TensorView& output);

} // namespace ecokv::kernels
