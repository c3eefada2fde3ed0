// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/encoder_layers.h"

#include <algorithm>

#include <fmt/format.h>

namespace ecokv::model {

EncoderLayers::EncoderLayers(const VisionConfig& config, std::int32_t used,
                             const std::string& prefix, WeightLoader& loader)
    : m_config(config) {
    const std::int64_t hidden = config.hidden;
    const std::int64_t inner = config.intermediate;
    for (std::int32_t i = 0; i < used; ++i) {
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
    for (std::int32_t i = used; i < config.layers; ++i) {
        loader.ignore(fmt::format("{}encoder.layers.{}.", prefix, i));
    }
}

at::Tensor EncoderLayers::attention(const Layer& layer, const at::Tensor& x) const {
    const std::int64_t tokens = x.size(0);
    const auto heads = [&](const at::Tensor& projected) {
        return projected.view({1, tokens, m_config.heads, m_config.headDim()}).transpose(1, 2);
    };
    const at::Tensor mixed = at::scaled_dot_product_attention(
        heads(layer.query(x)), heads(layer.key(x)), heads(layer.value(x)));
    return layer.output(mixed.transpose(1, 2).reshape({tokens, m_config.hidden}));
}

at::Tensor EncoderLayers::apply(const Layer& layer, const at::Tensor& x) const {
    const at::Tensor mixed = x + attention(layer, layer.attentionNorm(x));
    return mixed + layer.down(activate(m_config.activation, layer.up(layer.mlpNorm(mixed))));
}

std::int64_t EncoderLayers::workingValues(std::int64_t rows) const {
    const std::int64_t hidden = m_config.hidden, inner = m_config.intermediate;
    const std::int64_t attending = 6 * hidden; // row, norm, query, key, value, what is mixed
    // Inside an activation its argument is there too, and the argument of its sigmoid.
    const bool three = m_config.activation == Activation::QuickGelu;
    const std::int64_t activating = 3 * hidden + (three ? 3 : 2) * inner;
    const std::int64_t leaving = 5 * hidden + 2 * inner; // with what comes down, and the sum
    return rows * std::max({attending, activating, leaving});
}

at::Tensor EncoderLayers::encode(at::Tensor x, const std::function<void()>& afterLayer) const {
    for (const Layer& layer : m_layers) {
        x = apply(layer, x);
        afterLayer();
    }
    return x;
}

at::Tensor EncoderLayers::states(at::Tensor x, std::span<const std::int32_t> wanted,
                                 const std::function<void()>& afterLayer) const {
    std::vector<at::Tensor> found(wanted.size());
    const auto keep = [&](std::int32_t layer) {
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (wanted[i] == layer) {
                found[i] = x;
            }
        }
    };
    keep(0);
    for (std::int32_t i = 0; i < used(); ++i) {
        x = apply(m_layers[static_cast<std::size_t>(i)], x);
        keep(i + 1);
        afterLayer();
    }
    return found.size() == 1 ? found.front() : at::cat(found, 1);
}

} // namespace ecokv::model
