#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: reading one row of a host tensor [head, row, dim] as float32, exactly, and the rule for
// damaged rows: a row with a NaN or infinite component reads as all zeros in every kernel.

#include "base/float_convert.h"
#include "base/tensor_view.h"

#include <cmath>
#include <cstdint>

namespace ecokv::kernels {

inline float elementAsFloat(const TensorView& tensor, std::int64_t offset) {
    switch (tensor.dtype) {
    case DType::BF16:
        return bf16ToFloat(tensor.as<std::uint16_t>()[offset]);
    case DType::F16:
        return f16ToFloat(tensor.as<std::uint16_t>()[offset]);
    default:
        return tensor.as<float>()[offset];
    }
}

/// Reads row `row` of head `head` into `out` [dim] as it is. False when it is not finite.
inline bool readRowAsIs(const TensorView& tensor, std::int64_t head, std::int64_t row, float* out) {
    const std::int64_t base = head * tensor.strides[0] + row * tensor.strides[1];
    bool finite = true;
    for (std::int64_t i = 0; i < tensor.shape[2]; ++i) {
        out[i] = elementAsFloat(tensor, base + i);
        finite = finite && std::isfinite(out[i]);
    }
    return finite;
}

/// As above, with the zero row in place of one that is not finite.
inline void readRow(const TensorView& tensor, std::int64_t head, std::int64_t row, float* out) {
    if (!readRowAsIs(tensor, head, row, out)) {
        for (std::int64_t i = 0; i < tensor.shape[2]; ++i) {
            out[i] = 0.0F;
        }
    }
}

} // namespace ecokv::kernels
