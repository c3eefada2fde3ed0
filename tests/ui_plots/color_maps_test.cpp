// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/color_maps.h"
#include "ui/plots/theme.h"
#include "ui_plots/plot_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ecokv::ui {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::array kMaps = {ColorMap::Viridis, ColorMap::Cividis, ColorMap::Diverging};

/// Matplotlib 3.10's own entries at 0, 64, 128, 192 and 255 of 255.
struct Reference {
    ColorMap map;
    std::array<QRgb, 5> colors;
};
constexpr std::array kReferences = {
    Reference{ColorMap::Viridis, {0x440154, 0x3b528b, 0x21918c, 0x5ec962, 0xfde725}},
    Reference{ColorMap::Cividis, {0x00224e, 0x434e6c, 0x7d7c78, 0xbcae6c, 0xfee838}},
};

} // namespace

TEST(ColorMaps, areMatplotlibsWithinFourOf255) {
    constexpr std::array kAt = {0, 64, 128, 192, 255};
    for (const Reference& reference : kReferences) {
        for (std::size_t i = 0; i < kAt.size(); ++i) {
            const QColor ours = colorAt(reference.map, kAt[i] / 255.0);
            EXPECT_LE(test::distance(ours, QColor(reference.colors[i])), 4)
                << kAt[i] << ": " << ours.name().toStdString();
        }
    }
}

TEST(ColorMaps, growBrighterAllTheWay) { // readable in grey and with any colour vision
    for (const auto map : {ColorMap::Viridis, ColorMap::Cividis}) {
        double before = -1;
        for (int i = 0; i <= 100; ++i) {
            const double now = test::brightness(colorAt(map, i / 100.0));
            EXPECT_GT(now, before) << i;
            before = now;
        }
    }
}

TEST(ColorMaps, divergingIsPalestInTheMiddle) {
    EXPECT_EQ(colorAt(ColorMap::Diverging, 0.5), QColor(0xf7f7f7));
    const QColor blue = colorAt(ColorMap::Diverging, 0);
    const QColor orange = colorAt(ColorMap::Diverging, 1);
    EXPECT_GT(blue.blue(), blue.red());
    EXPECT_GT(orange.red(), orange.blue());
}

TEST(ColorMaps, clampOutside) {
    for (const auto map : kMaps) {
        EXPECT_EQ(colorAt(map, -3), colorAt(map, 0));
        EXPECT_EQ(colorAt(map, 7), colorAt(map, 1));
    }
}

TEST(Theme, notMeasuredIsNoColourOfTheSequentialMaps) { // F143: a named colour of its own
    for (const Theme& theme : {Theme::light(), Theme::night()}) {
        for (const auto map : {ColorMap::Viridis, ColorMap::Cividis}) {
            for (int i = 0; i <= 200; ++i) {
                EXPECT_GT(test::distance(theme.notMeasured, colorAt(map, i / 200.0)), 20) << i;
            }
        }
    }
}

TEST(Theme, textReadsOnItsBackground) { // WCAG AA: at least 4.5 to 1
    const auto luminance = [](const QColor& color) {
        const auto linear = [](double c) {
            return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
        };
        return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) +
               0.0722 * linear(color.blueF());
    };
    for (const Theme& theme : {Theme::light(), Theme::night()}) {
        for (const QColor& ink : {theme.text, theme.mutedText}) {
            for (const QColor& paper : {theme.background, theme.panel}) {
                const double a = luminance(ink) + 0.05, b = luminance(paper) + 0.05;
                EXPECT_GE(std::max(a, b) / std::min(a, b), 4.5) << ink.name().toStdString();
            }
        }
    }
}

/// What a deuteranope or protanope sees: Machado, Oliveira, Fernandes 2009, severity 1, on linear
/// light.
QColor seenWith(const std::array<double, 9>& matrix, const QColor& color) {
    const auto linear = [](double c) {
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    const auto encoded = [](double c) {
        const double clipped = std::clamp(c, 0.0, 1.0);
        return clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * std::pow(clipped, 1 / 2.4) - 0.055;
    };
    const std::array<double, 3> rgb = {linear(color.redF()), linear(color.greenF()),
                                       linear(color.blueF())};
    std::array<double, 3> seen{};
    for (std::size_t i = 0; i < 3; ++i) {
        seen[i] = encoded(matrix[3 * i] * rgb[0] + matrix[3 * i + 1] * rgb[1] +
                          matrix[3 * i + 2] * rgb[2]);
    }
    return QColor::fromRgbF(static_cast<float>(seen[0]), static_cast<float>(seen[1]),
                            static_cast<float>(seen[2]));
}

TEST(Theme, marksDifferWithColourVisionDeficiency) {
    constexpr std::array<double, 9> kDeuteranopia = {
        0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881};
    constexpr std::array<double, 9> kProtanopia = {0.152286,  1.052583,  -0.204868,
                                                   0.114503,  0.786281,  0.099216,
                                                   -0.003882, -0.048116, 1.051998};
    for (const Theme& theme : {Theme::light(), Theme::night()}) {
        for (const auto& matrix : {kDeuteranopia, kProtanopia}) {
            const QColor kept = seenWith(matrix, theme.kept);
            EXPECT_GT(test::distance(kept, seenWith(matrix, theme.evicted)), 40);
            EXPECT_GT(test::distance(kept, seenWith(matrix, theme.accent)), 80);
            EXPECT_GT(test::distance(kept, seenWith(matrix, theme.background)), 80);
        }
    }
}

TEST(Theme, followsThePalette) {
    EXPECT_TRUE(Theme::forPalette(Theme::night().applicationPalette()).dark);
    EXPECT_FALSE(Theme::forPalette(Theme::light().applicationPalette()).dark);
}

TEST(ValueRange, spansFiniteValuesOnly) { // F143
    const auto range =
        ValueRange::ofFinite(std::array{kNaN, 3.0F, kInfinity, 1.0F, -kInfinity, 8.0F});
    EXPECT_FALSE(range.empty);
    EXPECT_EQ(range.low, 1);
    EXPECT_EQ(range.high, 8);
}

TEST(ValueRange, ofNothingFiniteIsEmpty) {
    EXPECT_TRUE(ValueRange::ofFinite(std::array{kNaN, kNaN}).empty);
    EXPECT_TRUE(ValueRange::ofFinite({}).empty);
}

TEST(ValueRange, fractionIsTheMiddleForAConstant) {
    EXPECT_EQ(ValueRange::ofFinite(std::array{4.0F, 4.0F}).fraction(4), 0.5);
    EXPECT_EQ((ValueRange{2, 6, false}).fraction(3), 0.25);
}

TEST(ValueRange, symmetricKeepsZeroInTheMiddle) {
    const auto range = ValueRange::ofFinite(std::array{-1.0F, 3.0F}).symmetric();
    EXPECT_EQ(range.low, -3);
    EXPECT_EQ(range.high, 3);
    EXPECT_EQ(range.fraction(0), 0.5);
}

} // namespace ecokv::ui
