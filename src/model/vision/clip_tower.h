#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The CLIP vision transformer of LLaVA (arXiv 2103.00020; CLIPVisionModel in transformers): one
// picture in, features of every patch out. Layers past the one the projector reads are not loaded.

#include "model/aten.h"
#include "model/layers.h"
#include "model/vision/encoder_layers.h"
#include "model/vision/vision_config.h"
#include "model/weight_loader.h"

#include <functional>
#include <string>

namespace ecokv::model {

class ClipVisionTower {
public:
    /// `prefix` ends in a dot: "model.vision_tower.vision_model.".
    ClipVisionTower(const VisionConfig& config, std::int32_t layersUsed, const std::string& prefix,
                    WeightLoader& loader);

    /// pixels [3, imageSize, imageSize] in the compute dtype to [1 + patch, hidden], the class
    /// token first: the hidden state after `layersUsed` layers, before any post norm.
    /// `afterLayer` is called after each layer and may throw.
    at::Tensor encode(const at::Tensor& pixels, const std::function<void()>& afterLayer) const;

    std::int32_t layersUsed() const { return m_layers.used(); }

private:
    at::Tensor embed(const at::Tensor& pixels) const;

    VisionConfig m_config;
    at::Tensor m_classEmbedding;    ///< [hidden]
    at::Tensor m_patchEmbedding;    ///< [hidden, 3, patch, patch]
    at::Tensor m_positionEmbedding; ///< [1 + patches, hidden]
    LayerNorm m_preNorm;
    EncoderLayers m_layers;
};

} // namespace ecokv::model
