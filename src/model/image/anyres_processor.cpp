// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/anyres_processor.h"

#include "base/error.h"
#include "model/file_advice.h"
#include "model/image/tiles.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

constexpr std::size_t kMostCanvases = 10'000;

ImageSize readCanvas(const JsonObject& object, const Json& pair) {
    const bool isPair = pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() &&
                        pair[1].is_number_integer();
    const auto side = [&](std::size_t i) { return isPair ? pair[i].get<std::int64_t>() : 0; };
    constexpr std::int64_t kMost = 16384;
    if (side(0) < 1 || side(1) < 1 || side(0) > kMost || side(1) > kMost) {
        throwBadInput(
            fmt::format("{} must be a list of [height, width] in pixels, but holds {}.",
                        object.where("image_grid_pinpoints"), pair.dump()),
            fmt::format(
                "Each pair gives the pixels of a canvas, from 1 to 16384, as [336, 672]. {}",
                restoreAdvice(object, "image_grid_pinpoints")));
    }
    return {static_cast<std::int32_t>(side(1)), static_cast<std::int32_t>(side(0))};
}

/// The canvas with the picture in its middle, zeros around it.
Pixels fitted(const Pixels& image, const ImageSize& canvas, Resample resample,
              Placement& placement) {
    const ImageSize size = fittedInto(image.size, canvas);
    const std::int32_t left = (canvas.width - size.width) / 2;
    const std::int32_t top = (canvas.height - size.height) / 2;
    placement = {static_cast<double>(size.width) / image.size.width,
                 static_cast<double>(size.height) / image.size.height, -static_cast<double>(left),
                 -static_cast<double>(top)};
    return cropped(resized(image, size, resample), -left, -top, canvas);
}

} // namespace

std::vector<ImageSize> readCanvases(const JsonObject& object, std::int32_t tileSide) {
    static const Json kPublished = {{336, 672}, {672, 336}, {672, 672}, {1008, 336}, {336, 1008}};
    const char* key = "image_grid_pinpoints";
    const Json* written = object.find(key);
    const Json& list = written != nullptr ? *written : kPublished;
    if (!list.is_array() || list.empty() || list.size() > kMostCanvases) {
        throwBadInput(
            fmt::format("{} must be a list of [height, width] with at least one entry.",
                        object.where(key)),
            fmt::format("For example [[336, 672], [672, 336]]. {}", restoreAdvice(object, key)));
    }
    std::vector<ImageSize> canvases;
    for (const Json& pair : list) {
        canvases.push_back(readCanvas(object, pair));
        const ImageSize& canvas = canvases.back();
        if (canvas.width % tileSide != 0 || canvas.height % tileSide != 0) {
            throwBadInput(fmt::format("{}: {} is no whole number of tiles of {} x {} pixels.",
                                      object.where(key), pair.dump(), tileSide, tileSide),
                          kMixedFilesAdvice);
        }
    }
    return canvases;
}

AnyResConfig readAnyResProcessor(const ProcessorFile& file) {
    const JsonObject settings = file.settings();
    AnyResConfig config;
    config.tile.type = file.type({"LlavaNextImageProcessor"});
    config.tile.source = file.source();
    config.tile.shortestEdge = kClipSide;
    readClipSettings(settings, config.tile);
    const ClipProcessorConfig& tile = config.tile;
    const bool square = tile.shortestEdge > 0;
    config.baseSize = square ? ImageSize{tile.shortestEdge, tile.shortestEdge} : tile.size;
    config.tileSide = tile.cropSize.height;
    if (const auto written = settings.raw().find("crop_size");
        written != settings.raw().end() && written->is_null()) {
        config.tile.crops = false;
        config.tileSide = config.baseSize.height;
    }
    config.canvases = readCanvases(settings, config.tileSide);
    return config;
}

std::string sizeRule(const AnyResConfig& config) {
    return fmt::format("the one of {} canvases that keeps most of the picture and wastes least "
                       "(the first of equals); fitted into it with the other side rounded up, "
                       "tiles of {} pixels; the whole picture stretched to {} x {} pixels",
                       config.canvases.size(), config.tileSide, config.baseSize.width,
                       config.baseSize.height);
}

AnyResPicture processAnyRes(const Picture& picture, const AnyResConfig& config) {
    const Pixels whole = pixelsOf(picture);
    AnyResPicture result;
    result.canvas = bestCanvas(whole.size, config.canvases);
    const auto add = [&](const Pixels& square, const Placement& outer) {
        result.squares.push_back(processPixels(square, config.tile, picture.path));
        Placement& placement = result.squares.back().placement;
        placement = placement.within(outer);
    };
    add(resized(whole, config.baseSize, config.tile.resample),
        {static_cast<double>(config.baseSize.width) / picture.width,
         static_cast<double>(config.baseSize.height) / picture.height, 0.0, 0.0});

    Placement canvas;
    const Pixels padded = fitted(whole, result.canvas, config.tile.resample, canvas);
    const ImageSize side{config.tileSide, config.tileSide};
    const std::int32_t columns = result.canvas.width / config.tileSide;
    std::int32_t index = 0;
    for (const Pixels& tile : splitTiles(padded, side)) {
        const Placement cut = tilePlacement(index, columns, side.width, side.height);
        add(tile, cut.within(canvas));
        ++index;
    }
    return result;
}

} // namespace ecokv::model
