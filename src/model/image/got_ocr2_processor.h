#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// InternVL's preprocessing (GotOcr2ImageProcessor), equal to the reference: the picture stretched
// onto the grid of tiles nearest to its shape, and behind the tiles, where there are several, the
// whole picture as one more. Immutable; any thread.

#include "model/image/clip_processor.h"
#include "model/image/tiles.h"

#include <vector>

namespace ecokv::model {

struct GotOcr2Config {
    ClipProcessorConfig tile; ///< what is done with each tile
    TileLimits limits;
};

GotOcr2Config readGotOcr2Processor(const ProcessorFile& file);

/// In words, how a picture gets its tiles.
std::string sizeRule(const GotOcr2Config& config);

struct TiledPicture {
    ImageSize grid; ///< columns, rows of tiles
    /// Row after row, the thumbnail last if `grid` has more than one; placed in the picture.
    std::vector<ProcessedImage> tiles;

    bool hasThumbnail() const { return tiles.size() > 1; }
};

TiledPicture processGotOcr2(const Picture& picture, const GotOcr2Config& config);

} // namespace ecokv::model
