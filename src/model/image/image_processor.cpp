// SPDX-License-Identifier: GPL-3.0-or-later
// Resizing is ATen's: its fixed-point path for 8-bit pixels is what the reference's torchvision
// calls, so the pixels come out equal, not just close (field cases F046, F047).
#include "model/image/image_processor.h"

#include "base/error.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

namespace ecokv::model {

namespace {

/// Sides are at most 16384, and a resized picture may not grow beyond what a decoded one may.
constexpr std::int64_t kMaxResizedPixels = 100'000'000;

struct Pixels {
    std::vector<std::uint8_t> data; ///< [3, height, width] u8
    ImageSize size;
};

ImageSize targetSize(const Picture& picture, const ImageProcessorConfig& config) {
    if (config.shortestEdge == 0) {
        return config.size;
    }
    const bool portrait = picture.width <= picture.height;
    const std::int64_t shortSide = portrait ? picture.width : picture.height;
    const std::int64_t longSide = portrait ? picture.height : picture.width;
    const auto newLong = static_cast<std::int64_t>(
        static_cast<double>(config.shortestEdge * longSide) / static_cast<double>(shortSide));
    if (newLong * config.shortestEdge > kMaxResizedPixels) {
        throwBadInput(fmt::format("The picture {} ({} x {}) is too narrow: with its short side at "
                                  "{} pixels its long side would have {}.",
                                  picture.path, picture.width, picture.height, config.shortestEdge,
                                  newLong),
                      "Crop the picture.");
    }
    const auto longPixels = static_cast<std::int32_t>(newLong);
    return portrait ? ImageSize{config.shortestEdge, longPixels}
                    : ImageSize{longPixels, config.shortestEdge};
}

/// [1, 3, height, width] view of the interleaved pixels.
at::Tensor asTensor(const Picture& picture) {
    auto* data = const_cast<std::uint8_t*>(picture.pixels.data());
    return at::from_blob(data, {1, picture.height, picture.width, 3}, at::kByte)
        .permute({0, 3, 1, 2});
}

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

at::Tensor resize(const at::Tensor& image, const ImageSize& target, Resample resample) {
    const std::array<std::int64_t, 2> size{target.height, target.width};
    if (image.size(2) == size[0] && image.size(3) == size[1]) {
        return image;
    }
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

Pixels resized(const Picture& picture, const ImageProcessorConfig& config) {
    const c10::InferenceMode guard;
    at::Tensor image = asTensor(picture);
    if (config.resizes) {
        image = resize(image, targetSize(picture, config), config.resample);
    }
    image = image.contiguous();
    const auto* first = image.const_data_ptr<std::uint8_t>();
    return {std::vector<std::uint8_t>(first, first + image.numel()),
            {static_cast<std::int32_t>(image.size(3)), static_cast<std::int32_t>(image.size(2))}};
}

/// Offset of the crop in the picture: half the difference, rounded down (field case F048);
/// negative where the picture is smaller and zeros are put around it.
std::int32_t cropOffset(std::int32_t have, std::int32_t want) {
    return have >= want ? (have - want) / 2 : -((want - have) / 2);
}

Pixels cropped(const Pixels& image, const ImageSize& want) {
    Pixels result{std::vector<std::uint8_t>(static_cast<std::size_t>(3) * want.width * want.height),
                  want};
    const std::int32_t left = cropOffset(image.size.width, want.width);
    const std::int32_t top = cropOffset(image.size.height, want.height);
    const std::int32_t xBegin = std::max(0, -left);
    const std::int32_t xEnd = std::min(want.width, image.size.width - left);
    for (std::int32_t row = 0; row < 3 * want.height; ++row) {
        const std::int32_t y = row % want.height + top;
        if (y < 0 || y >= image.size.height) {
            continue;
        }
        const std::int64_t sourceRow =
            static_cast<std::int64_t>(row / want.height) * image.size.height + y;
        const auto source = image.data.begin() + sourceRow * image.size.width + left + xBegin;
        std::copy(source, source + (xEnd - xBegin),
                  result.data.begin() + static_cast<std::int64_t>(row) * want.width + xBegin);
    }
    return result;
}

/// float32 throughout; rescaling is folded into mean and deviation as the reference does.
std::vector<float> normalized(const Pixels& image, const ImageProcessorConfig& config) {
    std::vector<float> values(image.data.begin(), image.data.end());
    const std::size_t plane = values.size() / 3;
    const auto inverse = static_cast<float>(config.rescales ? 1.0 / config.rescaleFactor : 1.0);
    for (std::size_t c = 0; c < 3; ++c) {
        const float mean = static_cast<float>(config.mean[c]) * inverse;
        const float deviation = static_cast<float>(config.std[c]) * inverse;
        for (std::size_t i = c * plane; i < (c + 1) * plane; ++i) {
            values[i] = (values[i] - mean) / deviation;
        }
    }
    return values;
}

std::vector<float> toValues(const Pixels& image, const ImageProcessorConfig& config) {
    if (config.normalizes) {
        return normalized(image, config);
    }
    std::vector<float> values(image.data.begin(), image.data.end());
    if (config.rescales) {
        const auto factor = static_cast<float>(config.rescaleFactor);
        std::ranges::for_each(values, [factor](float& value) { value *= factor; });
    }
    return values;
}

} // namespace

std::array<float, 4> ProcessedImage::sourceBox(double x0, double y0, double x1, double y1) const {
    return {
        static_cast<float>((x0 + offsetX) / scaleX), static_cast<float>((y0 + offsetY) / scaleY),
        static_cast<float>((x1 + offsetX) / scaleX), static_cast<float>((y1 + offsetY) / scaleY)};
}

ProcessedImage processImage(const Picture& picture, const ImageProcessorConfig& config) {
    Pixels image = resized(picture, config);
    ProcessedImage result;
    result.scaleX = static_cast<double>(image.size.width) / picture.width;
    result.scaleY = static_cast<double>(image.size.height) / picture.height;
    if (config.crops) {
        result.offsetX = cropOffset(image.size.width, config.cropSize.width);
        result.offsetY = cropOffset(image.size.height, config.cropSize.height);
        image = cropped(image, config.cropSize);
    }
    result.size = image.size;
    result.pixels = toValues(image, config);
    return result;
}

} // namespace ecokv::model
