#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Where prepared pixels lie in the picture that they come from, through every resize, pad, crop and
// tile; and from that the boxes of image tokens. Values; any thread.

#include "model/picture_processor.h"

#include <cstdint>
#include <vector>

namespace ecokv::model {

/// source = (pixel + offset) / scale, per axis.
struct Placement {
    double scaleX = 1.0, scaleY = 1.0;   ///< pixels per source pixel
    double offsetX = 0.0, offsetY = 0.0; ///< left, top of a crop; negative = padding

    /// The box in the source of a box in pixels; may reach outside where the picture was padded.
    PatchBox box(double x0, double y0, double x1, double y1) const;
    /// These pixels were taken out of others that lie at `outer` themselves.
    Placement within(const Placement& outer) const;
};

/// Of tile number `index` among tiles of `width` x `height` pixels that lie in rows of `columns`.
Placement tilePlacement(std::int32_t index, std::int32_t columns, std::int32_t width,
                        std::int32_t height);

/// A run of cells of a grid, row after row.
struct CellGrid {
    std::int32_t columns = 0, rows = 0;
    double width = 0.0, height = 0.0; ///< of a cell, pixels
    PatchRole role = PatchRole::Patch;
};

/// Appends a token for every cell.
void addCells(std::vector<ImageToken>& tokens, const Placement& placement, const CellGrid& grid);

} // namespace ecokv::model
