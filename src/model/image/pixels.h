#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// 8-bit pixels and what every image processor does to them. Resizing is ATen's: its fixed-point
// path for 8-bit pixels is what the reference's torchvision calls, so pixels come out equal, not
// just close (field cases F046, F047). Any thread.

#include "model/prompt.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ecokv::model {

enum class Resample : std::uint8_t { Nearest = 0, Bilinear = 2, Bicubic = 3 }; ///< PIL's numbers

struct ImageSize {
    std::int32_t width = 0, height = 0; ///< pixels

    bool operator==(const ImageSize&) const = default;
};

struct Pixels {
    std::vector<std::uint8_t> data; ///< [3, height, width] u8
    ImageSize size;
};

Pixels pixelsOf(const Picture& picture);
/// With antialias, half-pixel centres. The same size gives the same pixels.
Pixels resized(const Pixels& image, const ImageSize& size, Resample resample);
/// The same in f32, rounded to 8 bits at the end, as torchvision's older functions do it: the last
/// bit may differ from resized().
Pixels resizedInFloat(const Pixels& image, const ImageSize& size, Resample resample);
/// `size` pixels from (left, top), which may lie outside: `fill` stands for what is not there.
Pixels cropped(const Pixels& image, std::int32_t left, std::int32_t top, const ImageSize& size,
               const std::array<std::uint8_t, 3>& fill = {0, 0, 0});

} // namespace ecokv::model
