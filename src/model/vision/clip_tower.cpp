// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/clip_tower.h"

namespace ecokv::model {

ClipVisionTower::ClipVisionTower(const VisionConfig& config, std::int32_t used,
                                 const std::string& prefix, WeightLoader& loader)
    : m_patchSize(config.patchSize),
      m_classEmbedding(loader.take(prefix + "embeddings.class_embedding", {config.hidden})),
      m_patchEmbedding(loader.take(prefix + "embeddings.patch_embedding.weight",
                                   {config.hidden, 3, config.patchSize, config.patchSize})),
      m_positionEmbedding(loader.take(prefix + "embeddings.position_embedding.weight",
                                      {config.patches() + 1, config.hidden})),
      // The name is spelt like this in every CLIP checkpoint.
      m_preNorm(loader.takeLayerNorm(prefix + "pre_layrnorm", config.hidden, config.layerNormEps)),
      m_layers(config, used, prefix, loader) {
    loader.ignore(prefix + "post_layernorm.");
}

at::Tensor ClipVisionTower::embed(const at::Tensor& pixels) const {
    const at::Tensor patches =
        at::conv2d(pixels.unsqueeze(0), m_patchEmbedding, {}, {m_patchSize, m_patchSize});
    // [1, hidden, row, column] to [patch, hidden], rows of the picture one after the other.
    const at::Tensor rows = patches.flatten(2).squeeze(0).transpose(0, 1);
    return at::cat({m_classEmbedding.unsqueeze(0), rows}) + m_positionEmbedding;
}

at::Tensor ClipVisionTower::states(const at::Tensor& pixels, std::span<const std::int32_t> wanted,
                                   const std::function<void()>& afterLayer) const {
    return m_layers.states(m_preNorm(embed(pixels)), wanted, afterLayer);
}

} // namespace ecokv::model
