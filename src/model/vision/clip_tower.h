#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The CLIP vision transformer of LLaVA (arXiv 2103.00020; CLIPVisionModel in transformers): one
// picture in, features of every patch out. Layers past the last one that the projector reads are
// not loaded.

#include "model/vision/encoder_layers.h"

#include <functional>
#include <span>
#include <string>

namespace ecokv::model {

class ClipVisionTower {
public:
    /// The first `used` layers. `prefix` ends in a dot: "model.vision_tower.vision_model.".
    ClipVisionTower(const VisionConfig& config, std::int32_t used, const std::string& prefix,
                    WeightLoader& loader);

    /// pixels [3, imageSize, imageSize] in the compute dtype to [1 + patch, wanted * hidden], the
    /// class token first: see EncoderLayers::states, where 0 is what the pre norm gives.
    at::Tensor states(const at::Tensor& pixels, std::span<const std::int32_t> wanted,
                      const std::function<void()>& afterLayer) const;

    std::int32_t layersUsed() const { return m_layers.used(); }
    std::int64_t workingValues(std::int64_t rows) const { return m_layers.workingValues(rows); }

private:
    at::Tensor embed(const at::Tensor& pixels) const;

    std::int64_t m_patchSize;
    at::Tensor m_classEmbedding;    ///< [hidden]
    at::Tensor m_patchEmbedding;    ///< [hidden, 3, patch, patch]
    at::Tensor m_positionEmbedding; ///< [1 + patches, hidden]
    LayerNorm m_preNorm;
    EncoderLayers m_layers;
};

} // namespace ecokv::model
