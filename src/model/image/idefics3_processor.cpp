// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/idefics3_processor.h"

#include "model/image/tiles.h"

#include <algorithm>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

constexpr std::int32_t kLongestPossible = 4096; // whatever the settings ask for
constexpr std::int64_t kLanczos = 1;            // PIL's number

/// The reference has no Lanczos filter for tensors and takes the bicubic one instead.
Resample resampleOf(const JsonObject& settings) {
    const bool isLanczos = settings.integer("resample", kLanczos) == kLanczos;
    return isLanczos ? Resample::Bicubic : readResample(settings, Resample::Bicubic);
}

/// {"longest_edge": 1456} or {"height": 364, "width": 364}.
void readSize(const JsonObject& settings, Idefics3ProcessorConfig& config) {
    if (!settings.has("size")) {
        return;
    }
    const JsonObject size = settings.object("size");
    if (size.has("longest_edge")) {
        config.longestEdge = pixelSide(size, "longest_edge");
    } else {
        config.longestEdge = 0;
        config.size = {pixelSide(size, "width"), pixelSide(size, "height")};
    }
}

bool isPortrait(const ImageSize& size) {
    return size.height > size.width;
}

double aspectRatio(const ImageSize& size) {
    return static_cast<double>(size.width) / size.height;
}

/// The longer side at `length`, the other rounded down; in the reference's order of operations.
ImageSize withLongerSide(const ImageSize& size, std::int32_t length) {
    if (isPortrait(size)) {
        return {static_cast<std::int32_t>(length * aspectRatio(size)), length};
    }
    return {length, static_cast<std::int32_t>(length / aspectRatio(size))};
}

std::int32_t nextMultiple(std::int32_t length, std::int32_t step) {
    return (length + step - 1) / step * step;
}

ImageSize atLeastOne(const ImageSize& size) {
    return {std::max(size.width, 1), std::max(size.height, 1)};
}

void append(const Pixels& image, const Normalization& normalization, std::vector<float>& values) {
    const std::vector<float> more = normalized(image, normalization);
    values.insert(values.end(), more.begin(), more.end());
}

} // namespace

Idefics3ProcessorConfig readIdefics3Processor(const ProcessorFile& file) {
    const JsonObject settings = file.settings();
    file.type({"Idefics3ImageProcessor", "SmolVLMImageProcessor"});
    Idefics3ProcessorConfig config;
    config.source = file.source();
    config.resizes = settings.boolean("do_resize", true);
    config.splits = settings.boolean("do_image_splitting", true);
    config.resample = resampleOf(settings);
    config.normalization = readNormalization(settings, kHalf, kHalf);
    readSize(settings, config);
    if (settings.has("max_image_size")) {
        config.tileSide = pixelSide(settings.object("max_image_size"), "longest_edge");
    }
    return config;
}

ImageSize longestEdgeSize(const ImageSize& size, std::int32_t longestEdge) {
    ImageSize resized = withLongerSide(size, longestEdge);
    std::int32_t& shorter = isPortrait(size) ? resized.width : resized.height;
    shorter += shorter % 2; // even
    resized = atLeastOne(resized);
    if (std::max(resized.width, resized.height) > kLongestPossible) {
        resized = atLeastOne(withLongerSide(resized, kLongestPossible));
    }
    return resized;
}

ImageSize tileMultiple(const ImageSize& size, std::int32_t tileSide) {
    const std::int32_t longer = std::max(size.width, size.height);
    const ImageSize scaled = withLongerSide(size, nextMultiple(longer, tileSide));
    return {nextMultiple(scaled.width, tileSide), nextMultiple(scaled.height, tileSide)};
}

std::string sizeRule(const Idefics3ProcessorConfig& config) {
    std::string rule;
    if (config.resizes && config.longestEdge > 0) {
        rule = fmt::format("longer side to {} pixels, the other in proportion, rounded down and "
                           "then up to an even number; ",
                           config.longestEdge);
    } else if (config.resizes) {
        rule = fmt::format("stretched to {} x {} pixels; ", config.size.width, config.size.height);
    }
    if (!config.splits) {
        return rule + fmt::format("stretched to one tile of {0} x {0} pixels", config.tileSide);
    }
    return rule + fmt::format("both sides up to multiples of {} pixels, cut into tiles, and the "
                              "whole as one more",
                              config.tileSide);
}

TiledImage processIdefics3(const Picture& picture, const Idefics3ProcessorConfig& config) {
    const ImageSize tile{config.tileSide, config.tileSide};
    Pixels image = pixelsOf(picture);
    if (config.resizes) {
        const ImageSize size =
            config.longestEdge > 0 ? longestEdgeSize(image.size, config.longestEdge) : config.size;
        image = resizedInFloat(image, size, config.resample);
    }
    TiledImage result;
    result.joined = config.splits ? tileMultiple(image.size, config.tileSide) : tile;
    image = resizedInFloat(image, result.joined, config.resample);
    const auto tileValues = 3 * static_cast<std::size_t>(tile.width * tile.height);
    if (result.joined != tile) {
        result.rows = result.joined.height / tile.height;
        result.columns = result.joined.width / tile.width;
        result.values.reserve(static_cast<std::size_t>(result.rows * result.columns + 1) *
                              tileValues);
        for (const Pixels& part : splitTiles(image, tile)) {
            append(part, config.normalization, result.values);
        }
    }
    append(resizedInFloat(image, tile, config.resample), config.normalization, result.values);
    return result;
}

} // namespace ecokv::model
