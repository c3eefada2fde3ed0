// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/got_ocr2_processor.h"

#include "base/error.h"
#include "model/file_advice.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

std::int32_t tileLimit(const JsonObject& settings, const char* key, std::int32_t fallback) {
    constexpr std::int64_t kMost = 1024;
    const std::int64_t tiles = settings.integer(key, fallback);
    if (tiles < 1 || tiles > kMost) {
        throwBadInput(fmt::format("{} = {} must be a number of tiles from 1 to {}.",
                                  settings.where(key), tiles, kMost),
                      fmt::format("InternVL has 1 to 12. {}", restoreAdvice(settings, key)));
    }
    return static_cast<std::int32_t>(tiles);
}

} // namespace

GotOcr2Config readGotOcr2Processor(const ProcessorFile& file) {
    const JsonObject settings = file.settings();
    GotOcr2Config config;
    config.tile.type = file.type({"GotOcr2ImageProcessor"});
    config.tile.source = file.source();
    config.tile.crops = false;
    config.tile.size = {384, 384};
    readClipSettings(settings, config.tile);
    if (config.tile.shortestEdge != 0) {
        throwBadInput(
            fmt::format("{} must give height and width of a tile.", settings.where("size")),
            fmt::format("For example {{\"height\": 448, \"width\": 448}}. {}",
                        restoreAdvice(settings, "size")));
    }
    config.limits.least = tileLimit(settings, "min_patches", 1);
    config.limits.most = tileLimit(settings, "max_patches", 12);
    return config;
}

std::string sizeRule(const GotOcr2Config& config) {
    return fmt::format("stretched to the grid of {} to {} tiles of {} x {} pixels nearest to its "
                       "shape (of equals the larger where the picture has over half its pixels)",
                       config.limits.least, config.limits.most, config.tile.size.width,
                       config.tile.size.height);
}

TiledPicture processGotOcr2(const Picture& picture, const GotOcr2Config& config) {
    const Pixels whole = pixelsOf(picture);
    const ImageSize& tile = config.tile.size;
    TiledPicture result;
    result.grid = nearestTileGrid(whole.size, tile, config.limits);
    const auto add = [&](const Pixels& pixels, const Placement& outer) {
        result.tiles.push_back(processPixels(pixels, config.tile, picture.path));
        Placement& placement = result.tiles.back().placement;
        placement = placement.within(outer);
    };
    const auto scaled = [&](const ImageSize& size) {
        return Placement{static_cast<double>(size.width) / picture.width,
                         static_cast<double>(size.height) / picture.height};
    };
    const ImageSize canvas{tile.width * result.grid.width, tile.height * result.grid.height};
    std::int32_t index = 0;
    for (const Pixels& part : splitTiles(resized(whole, canvas, config.tile.resample), tile)) {
        const Placement cut = tilePlacement(index, result.grid.width, tile.width, tile.height);
        add(part, cut.within(scaled(canvas)));
        ++index;
    }
    if (index > 1) {
        add(resized(whole, tile, config.tile.resample), scaled(tile));
    }
    return result;
}

} // namespace ecokv::model
