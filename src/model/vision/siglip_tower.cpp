// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/siglip_tower.h"

namespace ecokv::model {

SiglipTower::SiglipTower(const VisionConfig& config, const std::string& prefix,
                         WeightLoader& loader)
    : m_patchSize(config.patchSize),
      m_patches(loader.takeLinear(prefix + "embeddings.patch_embedding",
                                  {config.hidden, 3, config.patchSize, config.patchSize}, true)),
      m_positions(loader.take(prefix + "embeddings.position_embedding.weight",
                              {config.patches(), config.hidden})),
      m_layers(config, config.layers, prefix, loader),
      m_postNorm(
          loader.takeLayerNorm(prefix + "post_layernorm", config.hidden, config.layerNormEps)) {
    loader.ignore(prefix + "head."); // pools the patches into one vector, which no decoder reads
}

at::Tensor SiglipTower::encode(const at::Tensor& pixels, const at::Tensor& positions,
                               const std::function<void()>& afterLayer) const {
    const at::Tensor patches = at::conv2d(pixels.unsqueeze(0), m_patches.weight, m_patches.bias,
                                          {m_patchSize, m_patchSize});
    // [1, hidden, row, column] to [patch, hidden], rows of the picture one after the other.
    const at::Tensor rows = patches.flatten(2).squeeze(0).transpose(0, 1);
    return m_postNorm(m_layers.encode(rows + positions, afterLayer));
}

} // namespace ecokv::model
