// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/pixels.h"

#include <algorithm>
#include <array>

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>

namespace ecokv::model {

namespace {

at::Tensor resizeBilinear(const at::Tensor& image, at::IntArrayRef size) {
#if defined(__x86_64__)
    const bool native = __builtin_cpu_supports("avx2"); // torchvision's rule for the 8-bit path
#else
    const bool native = false;
#endif
    if (native) {
        return at::_upsample_bilinear2d_aa(image, size, false);
    }
    return at::_upsample_bilinear2d_aa(image.to(at::kFloat), size, false)
        .round_()
        .clamp_(0, 255)
        .to(at::kByte);
}

at::Tensor resize(const at::Tensor& image, at::IntArrayRef size, Resample resample) {
    switch (resample) {
    case Resample::Nearest:
        return at::_upsample_nearest_exact2d(image, size);
    case Resample::Bilinear:
        return resizeBilinear(image, size);
    case Resample::Bicubic:
        break;
    }
    return at::_upsample_bicubic2d_aa(image, size, /*align_corners=*/false);
}

at::Tensor resizeInFloat(const at::Tensor& image, at::IntArrayRef size, Resample resample) {
    const at::Tensor wide = image.to(at::kFloat);
    switch (resample) {
    case Resample::Nearest:
        return at::_upsample_nearest_exact2d(image, size);
    case Resample::Bilinear:
        return at::_upsample_bilinear2d_aa(wide, size, false).round_().to(at::kByte);
    case Resample::Bicubic:
        break;
    }
    return at::_upsample_bicubic2d_aa(wide, size, false).clamp_(0, 255).round_().to(at::kByte);
}

/// A view of the pixels, [1, 3, height, width] u8.
at::Tensor viewOf(const Pixels& image) {
    return at::from_blob(const_cast<std::uint8_t*>(image.data.data()),
                         {1, 3, image.size.height, image.size.width}, at::kByte);
}

using Resizer = at::Tensor (*)(const at::Tensor& image, at::IntArrayRef size, Resample resample);

/// [1, 3, height, width] to owned pixels.
Pixels take(const at::Tensor& image) {
    const at::Tensor dense = image.contiguous();
    const auto* first = dense.const_data_ptr<std::uint8_t>();
    return {std::vector<std::uint8_t>(first, first + dense.numel()),
            {static_cast<std::int32_t>(dense.size(3)), static_cast<std::int32_t>(dense.size(2))}};
}

Pixels resizedBy(Resizer resizer, const Pixels& image, const ImageSize& size, Resample resample) {
    if (image.size == size) {
        return image;
    }
    const c10::InferenceMode guard;
    const std::array<std::int64_t, 2> target{size.height, size.width};
    return take(resizer(viewOf(image), target, resample));
}

} // namespace

Pixels pixelsOf(const Picture& picture) {
    Pixels image{std::vector<std::uint8_t>(picture.pixels.size()), {picture.width, picture.height}};
    const std::size_t plane = picture.pixels.size() / 3;
    for (std::size_t i = 0; i < plane; ++i) {
        for (std::size_t channel = 0; channel < 3; ++channel) {
            image.data[channel * plane + i] = picture.pixels[3 * i + channel];
        }
    }
    return image;
}

Pixels resized(const Pixels& image, const ImageSize& size, Resample resample) {
    return resizedBy(&resize, image, size, resample);
}

Pixels resizedInFloat(const Pixels& image, const ImageSize& size, Resample resample) {
    return resizedBy(&resizeInFloat, image, size, resample);
}

Pixels cropped(const Pixels& image, std::int32_t left, std::int32_t top, const ImageSize& size,
               const std::array<std::uint8_t, 3>& fill) {
    const std::size_t plane = static_cast<std::size_t>(size.width) * size.height;
    Pixels result{std::vector<std::uint8_t>(3 * plane), size};
    for (std::size_t channel = 0; channel < 3; ++channel) {
        std::fill_n(result.data.begin() + static_cast<std::ptrdiff_t>(channel * plane), plane,
                    fill[channel]);
    }
    const std::int32_t xBegin = std::max(0, -left);
    const std::int32_t xEnd = std::min(size.width, image.size.width - left);
    for (std::int32_t row = 0; row < 3 * size.height; ++row) {
        const std::int32_t y = row % size.height + top;
        if (y < 0 || y >= image.size.height || xEnd <= xBegin) {
            continue;
        }
        const std::int64_t sourceRow =
            static_cast<std::int64_t>(row / size.height) * image.size.height + y;
        const auto source = image.data.begin() + sourceRow * image.size.width + left + xBegin;
        std::copy(source, source + (xEnd - xBegin),
                  result.data.begin() + static_cast<std::int64_t>(row) * size.width + xBegin);
    }
    return result;
}

} // namespace ecokv::model
