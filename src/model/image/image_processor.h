#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// CLIP preprocessing with the settings of a model folder (processor_config.json of transformers 5
// or the older preprocessor_config.json), equal to the reference: resize on 8-bit pixels with
// antialias, centre crop with zero padding, rescale, normalise.

#include "model/model_config.h"
#include "model/prompt.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ecokv::model {

enum class Resample : std::uint8_t { Nearest = 0, Bilinear = 2, Bicubic = 3 }; ///< PIL's numbers

struct ImageSize {
    std::int32_t width = 0, height = 0; ///< pixels

    bool operator==(const ImageSize&) const = default;
};

struct ImageProcessorConfig {
    std::string type;   ///< "CLIPImageProcessor"
    std::string source; ///< file the settings came from
    bool resizes = true, crops = true, rescales = true, normalizes = true;
    std::int32_t shortestEdge = 0; ///< 0: resize to `size` exactly
    ImageSize size;                ///< used when shortestEdge is 0
    ImageSize cropSize;
    Resample resample = Resample::Bicubic;
    double rescaleFactor = 1.0 / 255.0;
    std::array<double, 3> mean{}, std{};
};

/// Throws Error{BadInput} naming file and key.
ImageProcessorConfig readImageProcessorConfig(const std::filesystem::path& folder);

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

ProcessedImage processImage(const Picture& picture, const ImageProcessorConfig& config);

} // namespace ecokv::model
