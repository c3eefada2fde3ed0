// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/clip_tower.h"

namespace ecokv::model {

ClipVisionTower::ClipVisionTower(const VisionConfig& config, std::int32_t layersUsed,
                                 const std::string& prefix, WeightLoader& loader)
    : m_config(config) {
    const std::int64_t hidden = config.hidden;
    const std::int64_t patch = config.patchSize;
    const std::string embeddings = prefix + "embeddings.";
    m_classEmbedding = loader.take(embeddings + "class_embedding", {hidden});
    m_patchEmbedding =
        loader.take(embeddings + "patch_embedding.weight", {hidden, 3, patch, patch});
    m_positionEmbedding =
        loader.take(embeddings + "position_embedding.weight", {config.patches() + 1, hidden});
    // The name is spelt like this in every CLIP checkpoint.
    m_preNorm = loader.takeLayerNorm(prefix + "pre_layrnorm", hidden, config.layerNormEps);
    m_layers = EncoderLayers(config, layersUsed, prefix, loader);
    loader.ignore(prefix + "post_layernorm.");
}

at::Tensor ClipVisionTower::embed(const at::Tensor& pixels) const {
    const std::int64_t patch = m_config.patchSize;
    const at::Tensor patches =
        at::conv2d(pixels.unsqueeze(0), m_patchEmbedding, {}, {patch, patch});
    // [1, hidden, row, column] to [patch, hidden], rows of the picture one after the other.
    const at::Tensor rows = patches.flatten(2).squeeze(0).transpose(0, 1);
    return at::cat({m_classEmbedding.unsqueeze(0), rows}) + m_positionEmbedding;
}

at::Tensor ClipVisionTower::encode(const at::Tensor& pixels,
                                   const std::function<void()>& afterLayer) const {
    return m_layers.encode(m_preNorm(embed(pixels)), afterLayer);
}

} // namespace ecokv::model
