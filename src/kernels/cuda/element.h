#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Device side: elements of the three float types as float32 (exact), and rows of a tensor
// [head, row, dim] in device memory.

#include "kernels/cuda/simt.h"

#include <cmath>

namespace ecokv::kernels::cuda {

struct Bf16 {
    std::uint16_t bits;
};
struct F16 {
    std::uint16_t bits;
};

ECOKV_DEVICE float floatFromBits(std::uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

ECOKV_DEVICE float toFloat(float value) {
    return value;
}

ECOKV_DEVICE float toFloat(Bf16 value) {
    return floatFromBits(static_cast<std::uint32_t>(value.bits) << 16);
}

ECOKV_DEVICE float toFloat(F16 value) {
    const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
    const std::uint32_t exponent = (value.bits >> 10) & 0x1fU;
    const std::uint32_t mantissa = value.bits & 0x3ffU;
    if (exponent == 0x1fU) {
        return floatFromBits(sign | 0x7f800000U | (mantissa << 13));
    }
    if (exponent == 0) { // zero or subnormal: mantissa * 2^-24 is exact in float32
        const float magnitude = static_cast<float>(mantissa) * 5.9604644775390625e-8F;
        return sign != 0 ? -magnitude : magnitude;
    }
    return floatFromBits(sign | ((exponent + 112U) << 23) | (mantissa << 13));
}

ECOKV_DEVICE bool isFinite(double value) {
    return value - value == 0.0;
}

/// A length as float32: the largest finite number where it would overflow.
ECOKV_DEVICE float saturated(double length) {
    constexpr double kLargest = 3.4028234663852886e38;
    return static_cast<float>(length < kLargest ? length : kLargest);
}

/// Rows of a tensor [head, row, dim] with unit stride in dim.
template <class T> struct Rows {
    const T* data;
    std::int64_t headStride, rowStride; ///< in elements
    std::int64_t rows;
    int dim;

    ECOKV_DEVICE const T* row(std::int64_t head, std::int64_t index) const {
        return data + head * headStride + index * rowStride;
    }
};

} // namespace ecokv::kernels::cuda
