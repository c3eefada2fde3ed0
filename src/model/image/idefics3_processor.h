#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Preprocessing of Idefics3 (arXiv 2408.12637) and SmolVLM: the longest edge to a fixed length,
// then to multiples of a tile, cut into tiles, and the whole picture once more as one tile at the
// end. Equal to Idefics3ImageProcessorFast, which resizes in f32 and rounds to 8 bits after each
// step.

#include "model/image/normalization.h"
#include "model/image/pixels.h"

#include <string>
#include <vector>

namespace ecokv::model {

struct Idefics3ProcessorConfig {
    std::string source; ///< file the settings came from
    bool resizes = true, splits = true;
    std::int32_t longestEdge = 1456; ///< 0: resize to `size` exactly
    ImageSize size;                  ///< used when longestEdge is 0
    std::int32_t tileSide = 364;
    Resample resample = Resample::Bicubic;
    Normalization normalization;
};

/// Throws Error{BadInput} naming file and key.
Idefics3ProcessorConfig readIdefics3Processor(const ProcessorFile& file);

/// A picture cut into tiles.
struct TiledImage {
    std::vector<float> values; ///< [tile, 3, tileSide, tileSide] f32, the whole picture last
    std::int32_t rows = 0, columns = 0; ///< of tiles before the whole picture; 0 = it alone
    ImageSize joined;                   ///< pixels of the picture that was cut; else of a tile
    std::int32_t tiles() const { return rows * columns + 1; }
};

/// Size after the longest edge was brought to its length.
ImageSize longestEdgeSize(const ImageSize& size, std::int32_t longestEdge);
/// The next multiples of a tile, the aspect ratio kept where it can be.
ImageSize tileMultiple(const ImageSize& size, std::int32_t tileSide);

/// In words, how a picture gets its tiles.
std::string sizeRule(const Idefics3ProcessorConfig& config);

TiledImage processIdefics3(const Picture& picture, const Idefics3ProcessorConfig& config);

} // namespace ecokv::model
