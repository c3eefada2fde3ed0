#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Exact conversions between float32 and the 2-byte float types (round to nearest even on
// narrowing).

#include <bit>
#include <cstdint>

namespace ecokv {

inline float bf16ToFloat(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t floatToBf16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U) {
        return static_cast<std::uint16_t>((bits >> 16) | 0x40U); // keep NaN a NaN
    }
    return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

float f16ToFloat(std::uint16_t bits);
std::uint16_t floatToF16(float value);

} // namespace ecokv
