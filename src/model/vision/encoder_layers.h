#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The transformer layers that CLIP and SigLIP have in common, under the same names: norm before
// attention and before the MLP, attention in both directions, biases everywhere.

#include "model/aten.h"
#include "model/layers.h"
#include "model/vision/vision_config.h"
#include "model/weight_loader.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ecokv::model {

class EncoderLayers {
public:
    EncoderLayers() = default; ///< none
    /// Takes the first `used` of the config's layers; those behind it are left in the file.
    /// `prefix` ends in a dot: "model.vision_tower.vision_model.".
    EncoderLayers(const VisionConfig& config, std::int32_t used, const std::string& prefix,
                  WeightLoader& loader);

    /// x [patch, hidden] to the same. `afterLayer` is called after each layer and may throw.
    at::Tensor encode(at::Tensor x, const std::function<void()>& afterLayer) const;

    /// The states that `wanted` names, side by side: 0 = x, n = after layer n, at most used().
    at::Tensor states(at::Tensor x, std::span<const std::int32_t> wanted,
                      const std::function<void()>& afterLayer) const;

    /// Values that a layer holds at once of so many rows.
    std::int64_t workingValues(std::int64_t rows) const;
    std::int32_t used() const { return static_cast<std::int32_t>(m_layers.size()); }

private:
    struct Layer {
        LayerNorm attentionNorm, mlpNorm;
        Linear query, key, value, output, up, down;
    };

    at::Tensor attention(const Layer& layer, const at::Tensor& x) const;
    at::Tensor apply(const Layer& layer, const at::Tensor& x) const;

    VisionConfig m_config;
    std::vector<Layer> m_layers;
};

} // namespace ecokv::model
