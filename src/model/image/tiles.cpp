// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/tiles.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

double area(const ImageSize& size) {
    return static_cast<double>(size.width) * size.height;
}

double scaleInto(const ImageSize& picture, const ImageSize& canvas) {
    return std::min(static_cast<double>(canvas.width) / picture.width,
                    static_cast<double>(canvas.height) / picture.height);
}

/// Columns and rows of every arrangement, from few tiles to many, narrow before wide.
std::vector<ImageSize> arrangements(const TileLimits& limits) {
    std::vector<ImageSize> grids;
    for (std::int32_t columns = 1; columns <= limits.most; ++columns) {
        for (std::int32_t rows = 1; columns * rows <= limits.most; ++rows) {
            if (columns * rows >= limits.least) {
                grids.push_back({columns, rows});
            }
        }
    }
    std::ranges::stable_sort(grids, {},
                             [](const ImageSize& grid) { return grid.width * grid.height; });
    return grids;
}

/// Rounded down, but for what floating point leaves below a whole number: rounded to seven places
/// first, as the reference does.
std::int32_t wholeCells(double cells) {
    return static_cast<std::int32_t>(std::floor(std::round(cells * 1e7) / 1e7));
}

} // namespace

ImageSize bestCanvas(const ImageSize& picture, std::span<const ImageSize> canvases) {
    ImageSize best;
    double mostKept = 0.0;
    double leastWasted = std::numeric_limits<double>::infinity();
    for (const ImageSize& canvas : canvases) {
        const double scale = scaleInto(picture, canvas);
        const double fitted =
            std::floor(picture.width * scale) * std::floor(picture.height * scale);
        const double kept = std::min(fitted, area(picture));
        const double wasted = area(canvas) - kept;
        if (kept > mostKept || (kept == mostKept && wasted < leastWasted)) {
            mostKept = kept;
            leastWasted = wasted;
            best = canvas;
        }
    }
    return best;
}

ImageSize fittedInto(const ImageSize& picture, const ImageSize& canvas) {
    const double scaleX = static_cast<double>(canvas.width) / picture.width;
    const double scaleY = static_cast<double>(canvas.height) / picture.height;
    const auto side = [](double pixels, std::int32_t most) {
        return std::min(static_cast<std::int32_t>(std::ceil(pixels)), most);
    };
    return scaleX < scaleY ? ImageSize{canvas.width, side(picture.height * scaleX, canvas.height)}
                           : ImageSize{side(picture.width * scaleY, canvas.width), canvas.height};
}

ImageSize nearestTileGrid(const ImageSize& picture, const ImageSize& tile,
                          const TileLimits& limits) {
    const double shape = static_cast<double>(picture.width) / picture.height;
    double nearest = std::numeric_limits<double>::infinity();
    ImageSize best{1, 1};
    for (const ImageSize& grid : arrangements(limits)) {
        const double distance =
            std::abs(shape - static_cast<double>(grid.width) / static_cast<double>(grid.height));
        const bool fills = area(picture) > 0.5 * area(tile) * area(grid);
        if (distance < nearest || (distance == nearest && fills)) {
            nearest = distance;
            best = grid;
        }
    }
    return best;
}

CellCrop unpadded(const ImageSize& picture, const ImageSize& grid) {
    const double shape = static_cast<double>(picture.width) / picture.height;
    CellCrop crop{0, 0, grid.width, grid.height};
    if (shape > static_cast<double>(grid.width) / grid.height) {
        const double scale = static_cast<double>(grid.width) / picture.width;
        crop.top = (grid.height - wholeCells(picture.height * scale)) / 2;
        crop.rows -= 2 * crop.top;
    } else {
        const double scale = static_cast<double>(grid.height) / picture.height;
        crop.left = (grid.width - wholeCells(picture.width * scale)) / 2;
        crop.columns -= 2 * crop.left;
    }
    return crop;
}

std::vector<Pixels> splitTiles(const Pixels& image, const ImageSize& tile) {
    if (image.size.width % tile.width != 0 || image.size.height % tile.height != 0) {
        throwInternal(fmt::format("A canvas of {} x {} pixels is no whole number of tiles of "
                                  "{} x {}.",
                                  image.size.width, image.size.height, tile.width, tile.height));
    }
    std::vector<Pixels> tiles;
    for (std::int32_t top = 0; top < image.size.height; top += tile.height) {
        for (std::int32_t left = 0; left < image.size.width; left += tile.width) {
            tiles.push_back(cropped(image, left, top, tile));
        }
    }
    return tiles;
}

} // namespace ecokv::model
