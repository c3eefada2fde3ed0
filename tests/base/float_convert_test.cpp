// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/float_convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ecokv {

TEST(FloatConvert, everyFiniteHalfSurvivesTheRoundTrip) {
    for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float value = f16ToFloat(half);
        if (std::isnan(value)) {
            EXPECT_TRUE(std::isnan(f16ToFloat(floatToF16(value))));
            continue;
        }
        ASSERT_EQ(floatToF16(value), half) << "bits " << bits;
    }
}

TEST(FloatConvert, everyFiniteBfloat16SurvivesTheRoundTrip) {
    for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
        const auto stored = static_cast<std::uint16_t>(bits);
        const float value = bf16ToFloat(stored);
        if (std::isnan(value)) {
            EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(value))));
            continue;
        }
        ASSERT_EQ(floatToBf16(value), stored) << "bits " << bits;
    }
}

TEST(FloatConvert, narrowingRoundsToNearestEven) {
    EXPECT_EQ(floatToBf16(1.0F + 1.0F / 256), floatToBf16(1.0F));              // tie, even stays
    EXPECT_EQ(bf16ToFloat(floatToBf16(1.0F + 3.0F / 256)), 1.0F + 4.0F / 256); // tie, odd rises
    EXPECT_EQ(f16ToFloat(floatToF16(1.0F + 1.0F / 2048)), 1.0F);               // tie, even stays
    EXPECT_EQ(f16ToFloat(floatToF16(2049.0F)), 2048.0F);
    EXPECT_EQ(f16ToFloat(floatToF16(65519.0F)), 65504.0F);
    EXPECT_EQ(f16ToFloat(floatToF16(65520.0F)), std::numeric_limits<float>::infinity());
    EXPECT_EQ(f16ToFloat(floatToF16(-std::ldexp(1.0F, -24))), -std::ldexp(1.0F, -24));
}

} // namespace ecokv
