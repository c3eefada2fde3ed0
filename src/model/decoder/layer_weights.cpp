// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/layer_weights.h"

namespace ecokv::model {

namespace {

void takeAttention(const DecoderConfig& config, const std::string& prefix, WeightLoader& loader,
                   LayerWeights& layer) {
    const std::int64_t hidden = config.hidden;
    const std::int64_t queryRows = std::int64_t{config.heads} * config.headDim;
    const std::int64_t keyRows = std::int64_t{config.kvHeads} * config.headDim;
    const bool bias = config.queryKeyValueBias;
    const std::int64_t gateRows = config.gatedAttention ? queryRows : 0;
    layer.query = loader.takeLinear(prefix + "q_proj", {queryRows + gateRows, hidden}, bias);
    layer.key = loader.takeLinear(prefix + "k_proj", {keyRows, hidden}, bias);
    layer.value = loader.takeLinear(prefix + "v_proj", {keyRows, hidden}, bias);
    layer.output = loader.takeLinear(prefix + "o_proj", {hidden, queryRows}, config.outputBias);
    if (config.headNorms) {
        layer.queryNorm = takeDecoderNorm(config, prefix + "q_norm", config.headDim, loader);
        layer.keyNorm = takeDecoderNorm(config, prefix + "k_norm", config.headDim, loader);
        if (config.queryScale != 1.0 && layer.queryNorm.weight.defined()) {
            layer.queryNorm.weight = layer.queryNorm.weight * config.queryScale;
        }
    }
}

void takeMlp(const DecoderConfig& config, const std::string& prefix, WeightLoader& loader,
             LayerWeights& layer) {
    const std::int64_t hidden = config.hidden;
    const std::int64_t inner = config.intermediate;
    layer.gate = loader.takeLinear(prefix + "gate_proj", {inner, hidden}, config.mlpBias);
    layer.up = loader.takeLinear(prefix + "up_proj", {inner, hidden}, config.mlpBias);
    layer.down = loader.takeLinear(prefix + "down_proj", {hidden, inner}, config.mlpBias);
}

} // namespace

RmsNorm takeDecoderNorm(const DecoderConfig& config, const std::string& name, std::int64_t size,
                        WeightLoader& loader) {
    RmsNorm norm = loader.takeRmsNorm(name, size, config.rmsNormEps);
    if (config.normsAddOne && norm.weight.defined()) {
        norm.weight = norm.weight.to(c10::kFloat) + 1.0;
        norm.isWide = true;
    }
    return norm;
}

LayerWeights takeLayerWeights(const DecoderConfig& config, const std::string& prefix, LayerId id,
                              WeightLoader& loader) {
    const auto norm = [&](const char* name) {
        return takeDecoderNorm(config, prefix + name, config.hidden, loader);
    };
    LayerWeights layer;
    layer.attentionNorm = norm("input_layernorm");
    if (config.normsBehindBlocks) {
        layer.behindAttention = norm("post_attention_layernorm");
        layer.mlpNorm = norm("pre_feedforward_layernorm");
        layer.behindMlp = norm("post_feedforward_layernorm");
    } else {
        layer.mlpNorm = norm("post_attention_layernorm"); // it stands behind the attention as well
    }
    if (config.isLinear(id)) {
        layer.deltaNet.emplace(config, prefix + "linear_attn.", loader);
    } else {
        takeAttention(config, prefix + "self_attn.", loader, layer);
    }
    takeMlp(config, prefix + "mlp.", loader, layer);
    return layer;
}

} // namespace ecokv::model
