// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/clip_processor.h"

#include "base/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

/// Sides are at most 16384, and a resized picture may not grow beyond what a decoded one may.
constexpr std::int64_t kMaxResizedPixels = 100'000'000;

ImageSize targetSize(const ImageSize& given, const ClipProcessorConfig& config,
                     const std::string& name) {
    if (config.shortestEdge == 0) {
        return config.size;
    }
    const bool portrait = given.width <= given.height;
    const std::int64_t shortSide = portrait ? given.width : given.height;
    const std::int64_t longSide = portrait ? given.height : given.width;
    const auto newLong = static_cast<std::int64_t>(
        static_cast<double>(config.shortestEdge * longSide) / static_cast<double>(shortSide));
    if (newLong * config.shortestEdge > kMaxResizedPixels) {
        throwBadInput(fmt::format("The picture {} ({} x {}) is too narrow: with its short side at "
                                  "{} pixels its long side would have {}.",
                                  name, given.width, given.height, config.shortestEdge, newLong),
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

/// The mean colour around the picture, where it is not square (LLaVA's own preprocessing).
Pixels paddedToSquare(const Pixels& image, const ClipProcessorConfig& config,
                      Placement& placement) {
    const std::int32_t side = std::max(image.size.width, image.size.height);
    const std::int32_t left = (side - image.size.width) / 2;
    const std::int32_t top = (side - image.size.height) / 2;
    placement.offsetX = -left;
    placement.offsetY = -top;
    std::array<std::uint8_t, 3> fill{};
    std::ranges::transform(config.normalization.mean, fill.begin(), [](double mean) {
        return static_cast<std::uint8_t>(std::clamp(mean * 255.0, 0.0, 255.0));
    });
    return cropped(image, -left, -top, {side, side}, fill);
}

} // namespace

void readClipSettings(const JsonObject& settings, ClipProcessorConfig& config) {
    config.resizes = settings.boolean("do_resize", config.resizes);
    config.crops = settings.boolean("do_center_crop", config.crops);
    config.resample = readResample(settings, config.resample);
    config.normalization =
        readNormalization(settings, config.normalization.mean, config.normalization.std);
    readSize(settings, config);
    readCropSize(settings, config);
}

ClipProcessorConfig readClipProcessor(const ProcessorFile& file) {
    const JsonObject settings = file.settings();
    ClipProcessorConfig config;
    config.type = file.type({"CLIPImageProcessor", "CLIPFeatureExtractor", "SiglipImageProcessor",
                             "LlavaImageProcessor"});
    config.source = file.source();
    config.shortestEdge = kClipSide;
    if (config.type == "SiglipImageProcessor") {
        config.crops = false;
        config.shortestEdge = 0;
        config.size = {kClipSide, kClipSide};
        config.normalization.mean = config.normalization.std = kHalf;
    }
    readClipSettings(settings, config);
    config.padsToSquare = settings.boolean("do_pad", false);
    if (config.padsToSquare && config.type != "LlavaImageProcessor") {
        throwBadInput(fmt::format("{}: a {} does not pad to a square.", settings.where("do_pad"),
                                  config.type),
                      "Set it to false, or name LlavaImageProcessor.");
    }
    return config;
}

std::string sizeRule(const ClipProcessorConfig& config) {
    std::string rule = config.padsToSquare ? "padded to a square with the mean colour, " : "";
    if (!config.resizes) {
        rule += "not resized";
    } else if (config.shortestEdge == 0) {
        rule += fmt::format("stretched to {} x {} pixels", config.size.width, config.size.height);
    } else {
        rule += fmt::format("short side to {} pixels, the other in proportion, rounded down",
                            config.shortestEdge);
    }
    if (config.crops) {
        rule += fmt::format("; {} x {} pixels cut from the middle, offsets rounded down",
                            config.cropSize.width, config.cropSize.height);
    }
    return rule;
}

ProcessedImage processPixels(const Pixels& given, const ClipProcessorConfig& config,
                             const std::string& name) {
    Pixels image = config.resizes
                       ? resized(given, targetSize(given.size, config, name), config.resample)
                       : given;
    ProcessedImage result;
    result.placement.scaleX = static_cast<double>(image.size.width) / given.size.width;
    result.placement.scaleY = static_cast<double>(image.size.height) / given.size.height;
    if (config.crops) {
        const std::int32_t left = cropOffset(image.size.width, config.cropSize.width);
        const std::int32_t top = cropOffset(image.size.height, config.cropSize.height);
        result.placement.offsetX = left;
        result.placement.offsetY = top;
        image = cropped(image, left, top, config.cropSize);
    }
    result.size = image.size;
    result.pixels = normalized(image, config.normalization);
    return result;
}

ProcessedImage processImage(const Picture& picture, const ClipProcessorConfig& config) {
    const Pixels pixels = pixelsOf(picture);
    if (!config.padsToSquare) {
        return processPixels(pixels, config, picture.path);
    }
    Placement padding;
    const Pixels square = paddedToSquare(pixels, config, padding);
    ProcessedImage result = processPixels(square, config, picture.path);
    result.placement = result.placement.within(padding);
    return result;
}

} // namespace ecokv::model
