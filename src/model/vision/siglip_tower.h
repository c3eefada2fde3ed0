#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The SigLIP vision transformer (arXiv 2303.15343; SiglipVisionModel in transformers) without its
// pooling head: one square of pixels in, features of every patch out. No class token.

#include "model/vision/encoder_layers.h"

#include <functional>
#include <span>
#include <string>

namespace ecokv::model {

class SiglipTower {
public:
    /// All layers and the post norm. `prefix` ends in a dot: "model.vision_tower.vision_model.".
    SiglipTower(const VisionConfig& config, const std::string& prefix, WeightLoader& loader);
    /// The first `used` layers alone, for states().
    SiglipTower(const VisionConfig& config, std::int32_t used, const std::string& prefix,
                WeightLoader& loader);

    /// pixels [3, height, width] in the compute dtype to [patch, hidden], after the post norm.
    /// `positions` [patch, hidden] is added to the patches: positionTable() for the pictures that
    /// the table was made for. `afterLayer` is called after each layer and may throw.
    at::Tensor encode(const at::Tensor& pixels, const at::Tensor& positions,
                      const std::function<void()>& afterLayer) const;
    /// pixels [3, imageSize, imageSize] to [patch, wanted * hidden]: see EncoderLayers::states.
    at::Tensor states(const at::Tensor& pixels, std::span<const std::int32_t> wanted,
                      const std::function<void()>& afterLayer) const;

    /// [patches, hidden], rows of the picture one after the other.
    const at::Tensor& positionTable() const { return m_positions; }
    std::int32_t layersUsed() const { return m_layers.used(); }
    std::int64_t workingValues(std::int64_t rows) const { return m_layers.workingValues(rows); }

private:
    at::Tensor embed(const at::Tensor& pixels, const at::Tensor& positions) const;

    std::int64_t m_patchSize;
    Linear m_patches;       ///< weight [hidden, 3, patch, patch], bias [hidden]
    at::Tensor m_positions; ///< [patches, hidden]
    EncoderLayers m_layers;
    LayerNorm m_postNorm; ///< without weights where nobody asks for it
};

} // namespace ecokv::model
