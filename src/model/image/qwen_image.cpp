// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/qwen_image.h"

#include "base/error.h"
#include "model/config_values.h"
#include "model/file_advice.h"
#include "model/image/image_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ecokv::model {

namespace {

constexpr double kMostStretched = 200.0; ///< long side by short side

std::int64_t pixelLimit(const JsonObject& object, const char* key, std::int64_t most) {
    const auto value = object.findInteger(key);
    if (!value || *value < 1 || *value > most) {
        throwBadInput(
            fmt::format("{} must be a number of pixels from 1 to {}.", object.where(key), most),
            fmt::format("It limits the area of a resized picture. {}", restoreAdvice(object, key)));
    }
    return *value;
}

void readLimits(const JsonObject& settings, QwenImageConfig& config) {
    constexpr std::int64_t kNoLimit = std::int64_t{1} << 40;
    const bool least = settings.has("min_pixels"), most = settings.has("max_pixels");
    if (const auto size = settings.findObject("size"); size && !(least && most)) {
        config.minPixels = pixelLimit(*size, "shortest_edge", kMaxPicturePixels);
        config.maxPixels = pixelLimit(*size, "longest_edge", kNoLimit);
    }
    if (least) { // the older spelling wins where both are there, as in transformers
        config.minPixels = pixelLimit(settings, "min_pixels", kMaxPicturePixels);
    }
    if (most) {
        config.maxPixels = pixelLimit(settings, "max_pixels", kNoLimit);
    }
}

/// An extent that no real model exceeds: products of them stay far from overflow.
std::int32_t smallSize(const JsonObject& settings, const char* key, std::int32_t fallback) {
    constexpr std::int32_t kMost = 256;
    const std::int32_t value = size(settings, key, fallback);
    if (value > kMost) {
        throwBadInput(fmt::format("{} = {} is more than {}.", settings.where(key), value, kMost),
                      restoreAdvice(settings, key));
    }
    return value;
}

/// Multiple of `factor` nearest to `side`; halves go to the even multiple, as Python rounds.
std::int64_t nearestMultiple(std::int64_t side, std::int64_t factor) {
    const std::int64_t whole = side / factor, twice = 2 * (side % factor);
    const bool up = twice > factor || (twice == factor && whole % 2 == 1);
    return (whole + (up ? 1 : 0)) * factor;
}

ImageSize sizeOf(std::int64_t width, std::int64_t height) {
    return {static_cast<std::int32_t>(width), static_cast<std::int32_t>(height)};
}

void requireShape(const Picture& picture, const QwenImageConfig& config) {
    const auto [shortSide, longSide] = std::minmax(picture.width, picture.height);
    if (static_cast<double>(longSide) / shortSide > kMostStretched) {
        throwBadInput(fmt::format("The picture {} ({} x {}) is over {:g} times as long as it is "
                                  "wide; the model's processor refuses such shapes.",
                                  picture.path, picture.width, picture.height, kMostStretched),
                      "Crop the picture.");
    }
    const std::int32_t side = config.tokenSide();
    if (!config.resizes && (picture.width % side != 0 || picture.height % side != 0)) {
        throwBadInput(fmt::format("{} turns resizing off, but the sides of the picture {} ({} x "
                                  "{}) are not multiples of {} pixels.",
                                  config.source, picture.path, picture.width, picture.height, side),
                      "Set do_resize to true, or scale the picture.");
    }
}

/// [3, height, width] to rows of patches. A still picture is shown to every time step of a patch.
std::vector<float> patchRows(const std::vector<float>& image, const QwenPatches& shape,
                             const QwenImageConfig& config) {
    const std::int64_t patch = config.patchSize, width = shape.size.width;
    const std::int64_t plane = width * shape.size.height;
    std::vector<float> values(static_cast<std::size_t>(3 * plane * config.temporalPatchSize));
    auto to = values.begin();
    for (std::int64_t index = 0; index < shape.grid.patches(); ++index) {
        const PatchPlace place = shape.grid.place(index);
        const std::int64_t corner = place.row * patch * width + place.column * patch;
        for (std::int64_t slice = 0; slice < 3 * config.temporalPatchSize; ++slice) {
            auto from = image.begin() + slice / config.temporalPatchSize * plane + corner;
            for (std::int64_t row = 0; row < patch; ++row, from += width) {
                to = std::copy_n(from, patch, to);
            }
        }
    }
    return values;
}

} // namespace

QwenImageConfig readQwenImage(const ProcessorFile& file) {
    // The second is the first under a name that no release of transformers kept.
    file.type({"Qwen2VLImageProcessor", "Qwen2_5_VLImageProcessor"});
    const JsonObject settings = file.settings();
    QwenImageConfig config;
    config.source = file.source();
    config.patchSize = smallSize(settings, "patch_size", config.patchSize);
    config.temporalPatchSize = smallSize(settings, "temporal_patch_size", config.temporalPatchSize);
    config.mergeSize = smallSize(settings, "merge_size", config.mergeSize);
    config.resizes = settings.boolean("do_resize", true);
    config.resample = readResample(settings, Resample::Bicubic);
    config.normalization = readNormalization(settings, kClipMean, kClipStd);
    readLimits(settings, config);
    return config;
}

ImageSize smartResize(const ImageSize& picture, const QwenImageConfig& config) {
    const std::int64_t factor = config.tokenSide();
    const std::int64_t width = nearestMultiple(picture.width, factor);
    const std::int64_t height = nearestMultiple(picture.height, factor);
    const auto area = static_cast<double>(std::int64_t{picture.width} * picture.height);
    const auto units = static_cast<double>(factor);
    if (width * height > config.maxPixels) {
        const double shrink = std::sqrt(area / static_cast<double>(config.maxPixels));
        const auto fitting = [&](std::int32_t side) {
            return std::max<std::int64_t>(
                factor, static_cast<std::int64_t>(std::floor(side / shrink / units)) * factor);
        };
        return sizeOf(fitting(picture.width), fitting(picture.height));
    }
    if (width * height < config.minPixels) {
        const double grow = std::sqrt(static_cast<double>(config.minPixels) / area);
        const auto fitting = [&](std::int32_t side) {
            return static_cast<std::int64_t>(std::ceil(side * grow / units)) * factor;
        };
        return sizeOf(fitting(picture.width), fitting(picture.height));
    }
    return sizeOf(width, height);
}

std::string sizeRule(const QwenImageConfig& config) {
    const std::int32_t side = config.tokenSide();
    if (!config.resizes) {
        return fmt::format("as it is; both sides must be multiples of {} pixels", side);
    }
    return fmt::format("both sides to the nearest multiple of {} pixels (halves to the even one); "
                       "an area above {} scaled down to it with sides rounded down (at least {}), "
                       "one below {} up to it with sides rounded up",
                       side, config.maxPixels, side, config.minPixels);
}

QwenPatches qwenPatches(const Picture& picture, const QwenImageConfig& config) {
    requireShape(picture, config);
    Pixels image = pixelsOf(picture);
    if (config.resizes) {
        image = resized(image, smartResize(image.size, config), config.resample);
    }
    QwenPatches result;
    result.size = image.size;
    result.grid = {image.size.height / config.patchSize, image.size.width / config.patchSize,
                   config.mergeSize};
    result.values = patchRows(normalized(image, config.normalization), result, config);
    return result;
}

} // namespace ecokv::model
