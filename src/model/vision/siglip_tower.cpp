// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/siglip_tower.h"

namespace ecokv::model {

SiglipTower::SiglipTower(const VisionConfig& config, std::int32_t used, const std::string& prefix,
                         WeightLoader& loader)
    : m_patchSize(config.patchSize),
      m_patches(loader.takeLinear(prefix + "embeddings.patch_embedding",
                                  {config.hidden, 3, config.patchSize, config.patchSize}, true)),
      m_positions(loader.take(prefix + "embeddings.position_embedding.weight",
                              {config.patches(), config.hidden})),
      m_layers(config, used, prefix, loader) {
    loader.ignore(prefix + "post_layernorm.");
    loader.ignore(prefix + "head."); // pools the patches into one vector, which no decoder reads
}

SiglipTower::SiglipTower(const VisionConfig& config, const std::string& prefix,
                         WeightLoader& loader)
    : SiglipTower(config, config.layers, prefix, loader) {
    m_postNorm =
        loader.takeLayerNorm(prefix + "post_layernorm", config.hidden, config.layerNormEps);
}

at::Tensor SiglipTower::embed(const at::Tensor& pixels, const at::Tensor& positions) const {
    const at::Tensor patches = at::conv2d(pixels.unsqueeze(0), m_patches.weight, m_patches.bias,
                                          {m_patchSize, m_patchSize});
    // [1, hidden, row, column] to [patch, hidden], rows of the picture one after the other.
    return patches.flatten(2).squeeze(0).transpose(0, 1) + positions;
}

at::Tensor SiglipTower::encode(const at::Tensor& pixels, const at::Tensor& positions,
                               const std::function<void()>& afterLayer) const {
    return m_postNorm(m_layers.encode(embed(pixels, positions), afterLayer));
}

at::Tensor SiglipTower::states(const at::Tensor& pixels, std::span<const std::int32_t> wanted,
                               const std::function<void()>& afterLayer) const {
    return m_layers.states(embed(pixels, m_positions), wanted, afterLayer);
}

} // namespace ecokv::model
