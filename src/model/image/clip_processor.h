#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// CLIP preprocessing with the settings of a model folder, equal to the reference: resize on 8-bit
// pixels with antialias, centre crop with zero padding, rescale, normalise. SigLIP's is the same
// without a crop, LLaVA's may pad to a square first; tiles go through it one by one.

#include "model/image/normalization.h"
#include "model/image/pixels.h"
#include "model/image/placement.h"

#include <string>
#include <vector>

namespace ecokv::model {

inline constexpr std::int32_t kClipSide = 224; ///< of a file that names no size

struct ClipProcessorConfig {
    std::string type;   ///< "CLIPImageProcessor"
    std::string source; ///< file the settings came from
    bool padsToSquare = false;
    bool resizes = true, crops = true;
    std::int32_t shortestEdge = 0; ///< 0: resize to `size` exactly
    ImageSize size;                ///< used when shortestEdge is 0
    ImageSize cropSize{kClipSide, kClipSide};
    Resample resample = Resample::Bicubic;
    Normalization normalization{.mean = kClipMean, .std = kClipStd};
};

/// CLIPImageProcessor, SiglipImageProcessor, LlavaImageProcessor. Throws Error{BadInput} naming
/// file and key.
ClipProcessorConfig readClipProcessor(const ProcessorFile& file);
/// The keys in `settings`, over what `config` holds: the defaults of a processor class.
void readClipSettings(const JsonObject& settings, ClipProcessorConfig& config);

/// What the tower sees.
struct ProcessedImage {
    std::vector<float> pixels; ///< [3, height, width] f32
    ImageSize size;
    Placement placement; ///< in the pixels that were given
};

/// In words, how a picture gets its size.
std::string sizeRule(const ClipProcessorConfig& config);

ProcessedImage processImage(const Picture& picture, const ClipProcessorConfig& config);
/// Without padding to a square. `name` is for errors.
ProcessedImage processPixels(const Pixels& given, const ClipProcessorConfig& config,
                             const std::string& name);

} // namespace ecokv::model
