// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/color_maps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace ecokv::ui {
namespace {

// viridis (S. van der Walt, N. Smith, E. Firing, CC0): every fifth entry of matplotlib's table;
// straight lines between them stay within 0.7 of 255 of it.
constexpr std::array<std::uint32_t, 52> kViridis = {
    0x440154, 0x46085c, 0x471063, 0x481769, 0x481d6f, 0x482475, 0x472a7a, 0x46307e, 0x453781,
    0x433d84, 0x414287, 0x3f4889, 0x3d4e8a, 0x3a538b, 0x38598c, 0x355e8d, 0x33638d, 0x31688e,
    0x2e6d8e, 0x2c718e, 0x2a768e, 0x297b8e, 0x27808e, 0x25848e, 0x23898e, 0x218e8d, 0x20928c,
    0x1f978b, 0x1e9c89, 0x1fa188, 0x21a585, 0x24aa83, 0x28ae80, 0x2eb37c, 0x35b779, 0x3dbc74,
    0x46c06f, 0x50c46a, 0x5ac864, 0x65cb5e, 0x70cf57, 0x7cd250, 0x89d548, 0x95d840, 0xa2da37,
    0xb0dd2f, 0xbddf26, 0xcae11f, 0xd8e219, 0xe5e419, 0xf1e51d, 0xfde725,
};

// cividis (J. Nunez, C. Anderton, R. Renslow, PLoS ONE 2018, CC0), from matplotlib's table in the
// same way; within 4 of 255.
constexpr std::array<std::uint32_t, 52> kCividis = {
    0x00224e, 0x002656, 0x002a5f, 0x002d68, 0x003070, 0x083370, 0x163770, 0x203a6f, 0x273e6e,
    0x2e416d, 0x34456c, 0x3a486c, 0x3f4c6c, 0x444f6c, 0x49536c, 0x4e566c, 0x535a6d, 0x575d6d,
    0x5c616e, 0x60646f, 0x656870, 0x696b71, 0x6d6f72, 0x727274, 0x767676, 0x7a7a78, 0x7e7d78,
    0x838179, 0x888578, 0x8d8878, 0x928c78, 0x969077, 0x9b9476, 0xa09875, 0xa59c74, 0xaaa073,
    0xafa471, 0xb5a86f, 0xbaac6d, 0xbfb06b, 0xc4b468, 0xc9b965, 0xcfbd62, 0xd4c15f, 0xdac65b,
    0xdfca57, 0xe5cf52, 0xead34c, 0xf0d846, 0xf6dd3f, 0xfce236, 0xfee838,
};

// The blue half of ColorBrewer's RdBu and the orange half of its PuOr (C. Brewer, Apache-2.0).
constexpr std::array<std::uint32_t, 9> kDiverging = {
    0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7, 0xfee0b6, 0xfdb863, 0xe08214, 0xb35806,
};

std::span<const std::uint32_t> tableOf(ColorMap map) {
    switch (map) {
    case ColorMap::Cividis:
        return kCividis;
    case ColorMap::Diverging:
        return kDiverging;
    case ColorMap::Viridis:
        break;
    }
    return kViridis;
}

int mixChannel(std::uint32_t a, std::uint32_t b, int shift, double t) {
    const auto low = static_cast<double>((a >> shift) & 0xffU);
    const auto high = static_cast<double>((b >> shift) & 0xffU);
    return static_cast<int>(std::lround(low + (high - low) * t));
}

} // namespace

QColor colorAt(ColorMap map, double t) {
    const auto table = tableOf(map);
    const double position = std::clamp(t, 0.0, 1.0) * static_cast<double>(table.size() - 1);
    const auto index = std::min(static_cast<std::size_t>(position), table.size() - 2);
    const double rest = position - static_cast<double>(index);
    const auto a = table[index];
    const auto b = table[index + 1];
    return QColor(mixChannel(a, b, 16, rest), mixChannel(a, b, 8, rest), mixChannel(a, b, 0, rest));
}

ValueRange ValueRange::ofFinite(std::span<const float> values) {
    ValueRange range;
    for (const float value : values) {
        if (!std::isfinite(value)) {
            continue;
        }
        range.low = range.empty ? value : std::min(range.low, static_cast<double>(value));
        range.high = range.empty ? value : std::max(range.high, static_cast<double>(value));
        range.empty = false;
    }
    return range;
}

ValueRange ValueRange::symmetric() const {
    if (empty) {
        return *this;
    }
    const double reach = std::max(std::abs(low), std::abs(high));
    return {-reach, reach, false};
}

double ValueRange::fraction(double value) const {
    return high > low ? (value - low) / (high - low) : 0.5;
}

} // namespace ecokv::ui
