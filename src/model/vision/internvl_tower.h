#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The vision transformer of InternVL (arXiv 2312.14238; InternVLVisionModel in transformers): class
// token, layer or RMS norms, optional norms of queries and keys, scaled residuals. One square in,
// features of every patch out.

#include "model/aten.h"
#include "model/json_file.h"
#include "model/layers.h"
#include "model/weight_loader.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::model {

struct InternVlVisionConfig {
    std::int32_t hidden = 0, intermediate = 0, layers = 0, heads = 0;
    std::int32_t imageSize = 0, patchSize = 0; ///< pixels, square
    double layerNormEps = 1e-6;
    Activation activation = Activation::Gelu;
    bool attentionBias = false, queryKeyNorm = false, rmsNorm = false;
    bool positions = true;  ///< absolute position embeddings
    bool maskToken = false; ///< stored, never used
    bool finalNorm = false; ///< behind the last layer: where features are not mean-pooled

    std::int32_t headDim() const { return hidden / heads; }
    std::int32_t gridSide() const { return imageSize / patchSize; }
    std::int32_t patches() const { return gridSide() * gridSide(); }
};

/// `vision_config` of the whole config.json. Throws Error{BadInput} naming the key.
InternVlVisionConfig parseInternVlVision(const JsonObject& config);

class InternVlTower {
public:
    /// `wanted`: features after that layer; -1 = of the last one, normed where the model norms
    /// them. `prefix` ends in a dot: "model.vision_tower.".
    InternVlTower(const InternVlVisionConfig& config, std::int32_t wanted,
                  const std::string& prefix, WeightLoader& loader);

    /// pixels [3, imageSize, imageSize] to [1 + patch, hidden], the class token first.
    at::Tensor encode(const at::Tensor& pixels, const std::function<void()>& afterLayer) const;

    /// Values that encode() holds at once.
    std::int64_t workingValues() const;
    std::int32_t layersUsed() const { return static_cast<std::int32_t>(m_layers.size()); }

private:
    struct Norm {
        LayerNorm layer; ///< without weight where `rms` is used
        RmsNorm rms;

        at::Tensor operator()(const at::Tensor& x) const {
            return rms.weight.defined() ? rms(x) : layer(x);
        }
    };
    struct Layer {
        Norm attentionNorm, mlpNorm;
        Linear query, key, value, output, up, down;
        std::optional<RmsNorm> queryNorm, keyNorm; ///< over all heads together
        at::Tensor attentionScale, mlpScale;       ///< [hidden]
    };

    Norm takeNorm(const std::string& name, WeightLoader& loader) const;
    Layer takeLayer(const std::string& name, WeightLoader& loader) const;
    at::Tensor embed(const at::Tensor& pixels) const;
    at::Tensor attention(const Layer& layer, const at::Tensor& x) const;

    InternVlVisionConfig m_config;
    at::Tensor m_classToken; ///< [1, 1, hidden]
    Linear m_patchEmbedding; ///< weight [hidden, 3, patch, patch]
    at::Tensor m_positions;  ///< [1, 1 + patch, hidden], or undefined
    std::vector<Layer> m_layers;
    std::optional<LayerNorm> m_finalNorm;
};

} // namespace ecokv::model
