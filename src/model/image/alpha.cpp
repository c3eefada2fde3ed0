// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/alpha.h"

#include <algorithm>
#include <array>

namespace ecokv::model {

namespace {

constexpr unsigned kOpaque = 255;

std::uint8_t mixed(unsigned over, unsigned under, unsigned alpha) {
    return static_cast<std::uint8_t>((over * alpha + under * (kOpaque - alpha) + kOpaque / 2) /
                                     kOpaque);
}

} // namespace

void splitRgba(const std::vector<std::uint8_t>& rgba, RawImage& image) {
    const std::size_t pixels = rgba.size() / 4;
    image.pixels.resize(3 * pixels);
    image.alpha.resize(pixels);
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
        std::copy_n(rgba.begin() + static_cast<std::ptrdiff_t>(4 * pixel), 3,
                    image.pixels.begin() + static_cast<std::ptrdiff_t>(3 * pixel));
        image.alpha[pixel] = rgba[4 * pixel + 3];
    }
}

std::string resolveAlpha(RawImage& image, const std::optional<RgbColour>& background) {
    const std::vector<std::uint8_t> alpha = std::move(image.alpha);
    image.alpha.clear();
    if (std::ranges::all_of(alpha, [](std::uint8_t value) { return value == kOpaque; })) {
        return "none";
    }
    if (!background) {
        return "dropped";
    }
    const std::array<unsigned, 3> under{background->red, background->green, background->blue};
    for (std::size_t pixel = 0; pixel < alpha.size(); ++pixel) {
        for (std::size_t channel = 0; channel < 3; ++channel) {
            std::uint8_t& value = image.pixels[3 * pixel + channel];
            value = mixed(value, under[channel], alpha[pixel]);
        }
    }
    return "blended on " + colourText(*background);
}

} // namespace ecokv::model
