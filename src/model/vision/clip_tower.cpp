// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/clip_tower.h"

#include <fmt/format.h>

namespace ecokv::model {

ClipVisionTower::ClipVisionTower(const VisionConfig& config, std::int32_t layersUsed,
                                 const std::string& prefix, WeightLoader& loader)
    : m_config(config) {
    const std::int64_t hidden = config.hidden;
    const std::int64_t inner = config.intermediate;
    const std::int64_t patch = config.patchSize;
    const std::string embeddings = prefix + "embeddings.";
    m_classEmbedding = loader.take(embeddings + "class_embedding", {hidden});
    m_patchEmbedding =
        loader.take(embeddings + "patch_embedding.weight", {hidden, 3, patch, patch});
    m_positionEmbedding =
        loader.take(embeddings + "position_embedding.weight", {config.patches() + 1, hidden});
    // The name is spelt like this in every CLIP checkpoint.
    m_preNorm = loader.takeLayerNorm(prefix + "pre_layrnorm", hidden, config.layerNormEps);
    for (std::int32_t i = 0; i < layersUsed; ++i) {
        const std::string name = fmt::format("{}encoder.layers.{}.", prefix, i);
        const auto square = [&](const char* which) {
            return loader.takeLinear(name + "self_attn." + which, {hidden, hidden}, true);
        };
        const auto norm = [&](const char* which) {
            return loader.takeLayerNorm(name + which, hidden, config.layerNormEps);
        };
        m_layers.push_back({.attentionNorm = norm("layer_norm1"),
                            .mlpNorm = norm("layer_norm2"),
                            .query = square("q_proj"),
                            .key = square("k_proj"),
                            .value = square("v_proj"),
                            .output = square("out_proj"),
                            .up = loader.takeLinear(name + "mlp.fc1", {inner, hidden}, true),
                            .down = loader.takeLinear(name + "mlp.fc2", {hidden, inner}, true)});
    }
    for (std::int32_t i = layersUsed; i < config.layers; ++i) {
        loader.ignore(fmt::format("{}encoder.layers.{}.", prefix, i));
    }
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

at::Tensor ClipVisionTower::attention(const Layer& layer, const at::Tensor& x) const {
    const std::int64_t tokens = x.size(0);
    const auto heads = [&](const at::Tensor& projected) {
        return projected.view({1, tokens, m_config.heads, m_config.headDim()}).transpose(1, 2);
    };
    const at::Tensor mixed = at::scaled_dot_product_attention(
        heads(layer.query(x)), heads(layer.key(x)), heads(layer.value(x)));
    return layer.output(mixed.transpose(1, 2).reshape({tokens, m_config.hidden}));
}

at::Tensor ClipVisionTower::encode(const at::Tensor& pixels,
                                   const std::function<void()>& afterLayer) const {
    at::Tensor x = m_preNorm(embed(pixels));
    for (const Layer& layer : m_layers) {
        x = x + attention(layer, layer.attentionNorm(x));
        x = x + layer.down(activate(m_config.activation, layer.up(layer.mlpNorm(x))));
        afterLayer();
    }
    return x;
}

} // namespace ecokv::model
