#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// LLaVA-NeXT preprocessing (AnyRes), equal to the reference: the whole picture as one square, and
// tiles of the picture fitted into the canvas of a list that suits it best. Immutable; any thread.

#include "model/image/clip_processor.h"
#include "model/json_file.h"

#include <string>
#include <vector>

namespace ecokv::model {

struct AnyResConfig {
    ClipProcessorConfig tile;  ///< what is done with each square
    ImageSize baseSize;        ///< of the whole picture, before `tile`
    std::int32_t tileSide = 0; ///< pixels, on the canvas
    std::vector<ImageSize> canvases;
};

/// `image_grid_pinpoints`: a list of (height, width) (field case F050); the list of LLaVA-1.6 where
/// there is none. Throws Error{BadInput} for canvases that are no whole number of tiles.
std::vector<ImageSize> readCanvases(const JsonObject& object, std::int32_t tileSide);

AnyResConfig readAnyResProcessor(const ProcessorFile& file);

/// In words, how a picture gets its tiles.
std::string sizeRule(const AnyResConfig& config);

struct AnyResPicture {
    ImageSize canvas;
    /// The whole picture, then the tiles of the canvas row after row; placed in the picture.
    std::vector<ProcessedImage> squares;
};

AnyResPicture processAnyRes(const Picture& picture, const AnyResConfig& config);

} // namespace ecokv::model
