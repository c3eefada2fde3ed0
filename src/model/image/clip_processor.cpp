// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/clip_processor.h"

#include "base/error.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

constexpr std::int32_t kClipSide = 224;
/// Sides are at most 16384, and a resized picture may not grow beyond what a decoded one may.
constexpr std::int64_t kMaxResizedPixels = 100'000'000;

ImageSize targetSize(const Picture& picture, const ClipProcessorConfig& config) {
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

/// Offset of the crop in the picture: half the difference, rounded down (field case F048);
/// negative where the picture is smaller and zeros are put around it.
std::int32_t cropOffset(std::int32_t have, std::int32_t want) {
    return have >= want ? (have - want) / 2 : -((want - have) / 2);
}

ImageSize heightAndWidth(const JsonObject& object) {
    return {pixelSide(object, "width"), pixelSide(object, "height")};
}

/// 224, {"shortest_edge": 224} or {"height": 224, "width": 224}.
void readSize(const JsonObject& settings, ClipProcessorConfig& config) {
    config.shortestEdge = kClipSide;
    const Json* size = settings.find("size");
    if (size == nullptr) {
        return;
    }
    if (size->is_number()) {
        config.shortestEdge = pixelSide(settings, "size");
        return;
    }
    const JsonObject object = settings.object("size");
    if (object.has("longest_edge") || object.has("max_height") || object.has("max_width")) {
        throwBadInput(fmt::format("{} = {} limits the longest edge, which is not supported yet.",
                                  settings.where("size"), size->dump()),
                      "Supported are shortest_edge, or height and width.");
    }
    if (object.has("shortest_edge")) {
        config.shortestEdge = pixelSide(object, "shortest_edge");
    } else {
        config.shortestEdge = 0;
        config.size = heightAndWidth(object);
    }
}

void readCropSize(const JsonObject& settings, ClipProcessorConfig& config) {
    config.cropSize = {kClipSide, kClipSide};
    const Json* size = settings.find("crop_size");
    if (size == nullptr) {
        return;
    }
    if (size->is_number()) {
        const std::int32_t pixels = pixelSide(settings, "crop_size");
        config.cropSize = {pixels, pixels};
    } else {
        config.cropSize = heightAndWidth(settings.object("crop_size"));
    }
}

} // namespace

ClipProcessorConfig readClipProcessor(const ProcessorFile& file) {
    const JsonObject settings = file.settings();
    ClipProcessorConfig config;
    config.type = file.type({"CLIPImageProcessor", "CLIPFeatureExtractor"});
    config.source = file.source();
    config.resizes = settings.boolean("do_resize", true);
    config.crops = settings.boolean("do_center_crop", true);
    config.resample = readResample(settings, Resample::Bicubic);
    config.normalization = readNormalization(settings, kClipMean, kClipStd);
    if (settings.boolean("do_pad", false)) {
        throwBadInput(fmt::format("{}: padding is not supported yet.", settings.where("do_pad")),
                      "Set it to false.");
    }
    readSize(settings, config);
    readCropSize(settings, config);
    return config;
}

std::array<float, 4> ProcessedImage::sourceBox(double x0, double y0, double x1, double y1) const {
    return {
        static_cast<float>((x0 + offsetX) / scaleX), static_cast<float>((y0 + offsetY) / scaleY),
        static_cast<float>((x1 + offsetX) / scaleX), static_cast<float>((y1 + offsetY) / scaleY)};
}

ProcessedImage processImage(const Picture& picture, const ClipProcessorConfig& config) {
    Pixels image = pixelsOf(picture);
    if (config.resizes) {
        image = resized(image, targetSize(picture, config), config.resample);
    }
    ProcessedImage result;
    result.scaleX = static_cast<double>(image.size.width) / picture.width;
    result.scaleY = static_cast<double>(image.size.height) / picture.height;
    if (config.crops) {
        const std::int32_t left = cropOffset(image.size.width, config.cropSize.width);
        const std::int32_t top = cropOffset(image.size.height, config.cropSize.height);
        result.offsetX = left;
        result.offsetY = top;
        image = cropped(image, left, top, config.cropSize);
    }
    result.size = image.size;
    result.pixels = normalized(image, config.normalization);
    return result;
}

} // namespace ecokv::model
