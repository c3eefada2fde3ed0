#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Splitting a picture into tiles of one size: how many in which arrangement, as the reference
// chooses (field cases F049, F050), and cutting them out. Any thread.

#include "model/image/pixels.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ecokv::model {

/// AnyRes of LLaVA-NeXT: of the canvases, the one that keeps most of the picture's pixels, then the
/// one that wastes least; the first of equals. `canvases` must not be empty.
ImageSize bestCanvas(const ImageSize& picture, std::span<const ImageSize> canvases);

/// The picture's shape, as large as fits into `canvas`; a broken pixel counts as a whole one.
ImageSize fittedInto(const ImageSize& picture, const ImageSize& canvas);

struct TileLimits {
    std::int32_t least = 1, most = 12; ///< tiles
};

/// InternVL: columns x rows of at least `least` and at most `most` tiles whose shape is nearest to
/// the picture's. Of two equally near, the larger one if the picture has more than half its pixels.
/// 1 x 1 where no arrangement is within the limits.
ImageSize nearestTileGrid(const ImageSize& picture, const ImageSize& tile,
                          const TileLimits& limits);

/// A part of a grid of cells.
struct CellCrop {
    std::int32_t left = 0, top = 0, columns = 0, rows = 0;
};

/// The cells of `grid` (columns x rows) that hold the picture, which was fitted into its middle: as
/// many are cut off at either end of one axis. Very flat pictures may leave no cell.
CellCrop unpadded(const ImageSize& picture, const ImageSize& grid);

/// Row after row; `image` must be a whole number of tiles wide and high.
std::vector<Pixels> splitTiles(const Pixels& image, const ImageSize& tile);

} // namespace ecokv::model
