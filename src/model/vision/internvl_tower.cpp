// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/internvl_tower.h"

#include "base/error.h"
#include "model/config_values.h"
#include "model/file_advice.h"
#include "model/vision/vision_config.h"

#include <algorithm>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

constexpr double kQueryKeyEpsilon = 1e-6; // not a setting of the model

/// A number, or [height, width] of a square.
std::int32_t squareSide(const JsonObject& vision, const char* key, std::int32_t fallback) {
    const Json* value = vision.find(key);
    if (value == nullptr || !value->is_array()) {
        return size(vision, key, fallback);
    }
    const bool isSquare = value->size() == 2 && (*value)[0] == (*value)[1] &&
                          (*value)[0].is_number_integer() && (*value)[0].get<std::int64_t>() >= 1 &&
                          (*value)[0].get<std::int64_t>() <= 16384;
    if (!isSquare) {
        throwBadInput(fmt::format("{} = {} must be a square of at most 16384 pixels a side.",
                                  vision.where(key), value->dump()),
                      fmt::format("Towers for other shapes are not supported. {}",
                                  restoreAdvice(vision, key)));
    }
    return (*value)[0].get<std::int32_t>();
}

} // namespace

InternVlVisionConfig parseInternVlVision(const JsonObject& config) {
    const Json nothing = Json::object();
    const auto given = config.findObject("vision_config");
    const JsonObject vision = given ? *given : JsonObject(nothing, config.origin());
    if (vision.string("model_type", "internvl_vision") != "internvl_vision") {
        refuseModelType(vision, "vision tower", "internvl_vision");
    }
    InternVlVisionConfig tower;
    tower.hidden = size(vision, "hidden_size", 1024);
    tower.intermediate = size(vision, "intermediate_size", 4096);
    tower.layers = size(vision, "num_hidden_layers", 24);
    tower.heads = size(vision, "num_attention_heads", 16);
    tower.imageSize = squareSide(vision, "image_size", 448);
    tower.patchSize = squareSide(vision, "patch_size", 14);
    tower.layerNormEps = epsilon(vision, "layer_norm_eps", 1e-6);
    tower.activation = activation(vision, "hidden_act", "gelu");
    tower.attentionBias = vision.boolean("attention_bias", false);
    tower.queryKeyNorm = vision.boolean("use_qk_norm", false);
    tower.positions = vision.boolean("use_absolute_position_embeddings", true);
    tower.maskToken = vision.boolean("use_mask_token", false);
    tower.finalNorm = !vision.boolean("use_mean_pooling", true);
    const std::string norm = vision.string("norm_type", "layer_norm");
    tower.rmsNorm = norm == "rms_norm";
    if (!tower.rmsNorm && norm != "layer_norm") {
        throwBadInput(fmt::format("{} = \"{}\" is unknown.", vision.where("norm_type"), norm),
                      "Known are layer_norm and rms_norm.");
    }
    checkTowerShape(vision, {tower.hidden, tower.heads, tower.imageSize, tower.patchSize});
    return tower;
}

InternVlTower::InternVlTower(const InternVlVisionConfig& config, std::int32_t wanted,
                             const std::string& prefix, WeightLoader& loader)
    : m_config(config) {
    const std::int64_t hidden = config.hidden;
    const std::int64_t patch = config.patchSize;
    const std::string embeddings = prefix + "embeddings.";
    m_classToken = loader.take(embeddings + "cls_token", {1, 1, hidden});
    const std::string projection = embeddings + "patch_embeddings.projection";
    m_patchEmbedding.weight = loader.take(projection + ".weight", {hidden, 3, patch, patch});
    m_patchEmbedding.bias = loader.take(projection + ".bias", {hidden});
    if (config.positions) {
        m_positions =
            loader.take(embeddings + "position_embeddings", {1, config.patches() + 1, hidden});
    }
    if (config.maskToken) {
        loader.ignore(embeddings + "mask_token");
    }
    const std::int32_t used = wanted < 0 ? config.layers : wanted;
    for (std::int32_t i = 0; i < config.layers; ++i) {
        const std::string name = fmt::format("{}encoder.layer.{}.", prefix, i);
        if (i < used) {
            m_layers.push_back(takeLayer(name, loader));
        } else {
            loader.ignore(name);
        }
    }
    if (config.finalNorm && wanted < 0) {
        m_finalNorm = loader.takeLayerNorm(prefix + "layernorm", hidden, config.layerNormEps);
    } else if (config.finalNorm) {
        loader.ignore(prefix + "layernorm.");
    }
}

InternVlTower::Norm InternVlTower::takeNorm(const std::string& name, WeightLoader& loader) const {
    if (m_config.rmsNorm) {
        return {{}, loader.takeRmsNorm(name, m_config.hidden, m_config.layerNormEps)};
    }
    return {loader.takeLayerNorm(name, m_config.hidden, m_config.layerNormEps), {}};
}

InternVlTower::Layer InternVlTower::takeLayer(const std::string& name, WeightLoader& loader) const {
    const std::int64_t hidden = m_config.hidden;
    const std::int64_t inner = m_config.intermediate;
    const auto square = [&](const char* which, bool bias) {
        return loader.takeLinear(name + "attention." + which, {hidden, hidden}, bias);
    };
    Layer layer{.attentionNorm = takeNorm(name + "layernorm_before", loader),
                .mlpNorm = takeNorm(name + "layernorm_after", loader),
                .query = square("q_proj", m_config.attentionBias),
                .key = square("k_proj", m_config.attentionBias),
                .value = square("v_proj", m_config.attentionBias),
                .output = square("projection_layer", true),
                .up = loader.takeLinear(name + "mlp.fc1", {inner, hidden}, true),
                .down = loader.takeLinear(name + "mlp.fc2", {hidden, inner}, true),
                .queryNorm = {},
                .keyNorm = {},
                .attentionScale = loader.take(name + "lambda_1", {hidden}),
                .mlpScale = loader.take(name + "lambda_2", {hidden})};
    if (m_config.queryKeyNorm) {
        layer.queryNorm = loader.takeRmsNorm(name + "attention.q_norm", hidden, kQueryKeyEpsilon);
        layer.keyNorm = loader.takeRmsNorm(name + "attention.k_norm", hidden, kQueryKeyEpsilon);
    }
    return layer;
}

at::Tensor InternVlTower::embed(const at::Tensor& pixels) const {
    const std::int64_t patch = m_config.patchSize;
    const at::Tensor patches = at::conv2d(pixels.unsqueeze(0), m_patchEmbedding.weight,
                                          m_patchEmbedding.bias, {patch, patch});
    // [1, hidden, row, column] to [patch, hidden], rows of the picture one after the other.
    const at::Tensor rows = patches.flatten(2).squeeze(0).transpose(0, 1);
    const at::Tensor x = at::cat({m_classToken.squeeze(0), rows});
    return m_config.positions ? x + m_positions.squeeze(0) : x;
}

at::Tensor InternVlTower::attention(const Layer& layer, const at::Tensor& x) const {
    const std::int64_t tokens = x.size(0);
    const auto heads = [&](const at::Tensor& projected) {
        return projected.view({1, tokens, m_config.heads, m_config.headDim()}).transpose(1, 2);
    };
    const auto normed = [](const std::optional<RmsNorm>& norm, const at::Tensor& projected) {
        return norm ? (*norm)(projected) : projected;
    };
    const at::Tensor mixed = at::scaled_dot_product_attention(
        heads(normed(layer.queryNorm, layer.query(x))), heads(normed(layer.keyNorm, layer.key(x))),
        heads(layer.value(x)));
    return layer.output(mixed.transpose(1, 2).reshape({tokens, m_config.hidden}));
}

std::int64_t InternVlTower::workingValues() const {
    const std::int64_t hidden = m_config.hidden, inner = m_config.intermediate;
    const std::int64_t attending = (m_config.queryKeyNorm ? 8 : 6) * hidden;
    const std::int64_t activating = 2 * hidden + 2 * inner; // row, norm, and both sides of it
    const std::int64_t leaving = 4 * hidden + inner;
    return (m_config.patches() + 1) * std::max({attending, activating, leaving});
}

at::Tensor InternVlTower::encode(const at::Tensor& pixels,
                                 const std::function<void()>& afterLayer) const {
    at::Tensor x = embed(pixels);
    for (const Layer& layer : m_layers) {
        x = layer.attentionScale * attention(layer, layer.attentionNorm(x)) + x;
        const at::Tensor inner = activate(m_config.activation, layer.up(layer.mlpNorm(x)));
        x = layer.mlpScale * layer.down(inner) + x;
        afterLayer();
    }
    return m_finalNorm ? (*m_finalNorm)(x) : x;
}

} // namespace ecokv::model
