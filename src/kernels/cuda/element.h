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
#if defined(__CUDA_ARCH__)
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    return wide;
#else
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
#endif
}

ECOKV_DEVICE bool isFinite(double value) {
    return value - value == 0.0;
}

ECOKV_DEVICE bool isFinite(float value) {
    return value - value == 0.0F;
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

/// Positions of rows, in device memory or consecutive from `first`.
struct Positions {
    const std::int64_t* table;
    std::int64_t first;

    ECOKV_DEVICE std::int64_t at(std::int64_t index) const {
        return table != nullptr ? table[index] : first + index;
    }
};

/// What one thread reads or writes at once.
struct alignas(16) Words {
    std::uint32_t word[4];
};

/// Eight elements of a row as they lie in memory.
template <class T> struct Eight {
    Words part[sizeof(T) / 2];

    ECOKV_DEVICE void unpack(float (&values)[8]) const;
};

template <> ECOKV_DEVICE void Eight<float>::unpack(float (&values)[8]) const {
    ECOKV_UNROLL
    for (int i = 0; i < 8; ++i) {
        values[i] = floatFromBits(part[i / 4].word[i % 4]);
    }
}

template <class T> ECOKV_DEVICE void Eight<T>::unpack(float (&values)[8]) const {
    ECOKV_UNROLL
    for (int i = 0; i < 8; ++i) {
        const std::uint32_t pair = part[0].word[i / 2];
        values[i] = toFloat(T{static_cast<std::uint16_t>(i % 2 == 0 ? pair : pair >> 16)});
    }
}

/// Elements [at, at + 8) of a row of `dim`, zero beyond it. kWide: see readableInEights.
template <bool kWide, class T> ECOKV_DEVICE Eight<T> readEight(const T* row, int at, int dim) {
    Eight<T> result{};
    if (kWide) {
        if (at < dim) {
            result = *reinterpret_cast<const Eight<T>*>(row + at);
        }
        return result;
    }
    T elements[8]{};
    ECOKV_UNROLL
    for (int i = 0; i < 8; ++i) {
        if (at + i < dim) {
            elements[i] = row[at + i];
        }
    }
    memcpy(&result, elements, sizeof result);
    return result;
}

} // namespace ecokv::kernels::cuda
