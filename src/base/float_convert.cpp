// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/float_convert.h"

#include <cmath>

namespace ecokv {

float f16ToFloat(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fU;
    const std::uint32_t mantissa = bits & 0x3ffU;
    if (exponent == 0x1fU) {
        return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
    }
    if (exponent == 0) { // zero or subnormal: mantissa * 2^-24 is exact in float32
        const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
        return sign != 0 ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
}

std::uint16_t floatToF16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
    const float magnitude = std::fabs(value);
    if (std::isnan(value)) {
        return static_cast<std::uint16_t>(sign | 0x7e00U);
    }
    if (magnitude >= 65520.0F) { // rounds past the largest finite half
        return static_cast<std::uint16_t>(sign | 0x7c00U);
    }
    if (magnitude < 6.103515625e-05F) { // subnormal half: a multiple of 2^-24
        return static_cast<std::uint16_t>(
            sign | static_cast<std::uint16_t>(std::nearbyint(std::ldexp(magnitude, 24))));
    }
    const std::uint32_t abs = bits & 0x7fffffffU;
    const std::uint32_t rounded = abs + 0xfffU + ((abs >> 13) & 1U);
    return static_cast<std::uint16_t>(sign | ((rounded - (112U << 23)) >> 13));
}

} // namespace ecokv
