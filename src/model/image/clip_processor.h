#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// CLIP preprocessing with the settings of a model folder, equal to the reference: resize on 8-bit
// pixels with antialias, centre crop with zero padding, rescale, normalise. SiglipImageProcessor is
// the same without a crop.

#include "model/image/normalization.h"
#include "model/image/pixels.h"

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace ecokv::model {

struct ClipProcessorConfig {
    std::string type;   ///< "CLIPImageProcessor"
    std::string source; ///< file the settings came from
    bool resizes = true, crops = true;
    std::int32_t shortestEdge = 0; ///< 0: resize to `size` exactly
    ImageSize size;                ///< used when shortestEdge is 0
    ImageSize cropSize;
    Resample resample = Resample::Bicubic;
    Normalization normalization;
};

/// Throws Error{BadInput} naming file and key.
ClipProcessorConfig readClipProcessor(const ProcessorFile& file);

/// What the tower sees, and where its pixels lie in the picture:
/// source = (tower + offset) / scale, per axis.
struct ProcessedImage {
    std::vector<float> pixels; ///< [3, height, width] f32
    ImageSize size;
    double scaleX = 1.0, scaleY = 1.0;   ///< tower pixels per source pixel
    double offsetX = 0.0, offsetY = 0.0; ///< left, top of the crop; negative = padding

    /// x0, y0, x1, y1 in source pixels; may reach outside the picture where it was padded.
    std::array<float, 4> sourceBox(double x0, double y0, double x1, double y1) const;
};

ProcessedImage processImage(const Picture& picture, const ClipProcessorConfig& config);

} // namespace ecokv::model
