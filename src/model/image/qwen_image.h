#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Qwen2VLImageProcessor, which all of Qwen's multimodal models use: a picture keeps its shape, its
// sides become multiples of what an image token covers, its patches become rows. Sizes are the
// reference's to the pixel (field cases F039, F043, F044).

#include "model/image/normalization.h"
#include "model/image/patch_grid.h"
#include "model/image/pixels.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::model {

struct QwenImageConfig {
    std::string source; ///< file the settings came from
    std::int32_t patchSize = 14, temporalPatchSize = 2, mergeSize = 2;
    std::int64_t minPixels = 56 * 56, maxPixels = 28 * 28 * 1280; ///< of the resized picture
    bool resizes = true;
    Resample resample = Resample::Bicubic;
    Normalization normalization;

    std::int32_t tokenSide() const { return patchSize * mergeSize; } ///< pixels
};

/// min_pixels and max_pixels, or size.shortest_edge and size.longest_edge (both are numbers of
/// pixels, whatever their names say). Throws Error{BadInput} naming file and key.
QwenImageConfig readQwenImage(const ProcessorFile& file);

/// The size at which a picture is read: multiples of `tokenSide`, area within the limits where its
/// shape allows. Halves round to even.
ImageSize smartResize(const ImageSize& picture, const QwenImageConfig& config);
std::string sizeRule(const QwenImageConfig& config); ///< the same in words

/// What the tower takes.
struct QwenPatches {
    std::vector<float> values; ///< [patch, channel * time * row * column of a patch]
    PatchGrid grid;
    ImageSize size; ///< pixels, resized
};

/// Throws Error{BadInput} naming the picture and its size where one side is over 200 times the
/// other, or where it is not to be resized and does not fit (field case F041).
QwenPatches qwenPatches(const Picture& picture, const QwenImageConfig& config);

} // namespace ecokv::model
