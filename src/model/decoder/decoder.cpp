// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/decoder.h"

#include "base/error.h"
#include "base/log.h"
#include "model/tensor_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace ecokv::model {

void DeepFeatures::add(const at::Tensor& moreTokens, const std::vector<at::Tensor>& moreLayers) {
    if (moreLayers.empty()) {
        return;
    }
    if (!tokens.defined()) {
        tokens = moreTokens;
        layers = moreLayers;
        return;
    }
    tokens = at::cat({tokens, moreTokens});
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        layers[layer] = at::cat({layers[layer], moreLayers[layer]});
    }
}

Decoder::Decoder(const DecoderConfig& config, const DecoderNames& names, WeightLoader& loader,
                 const at::TensorOptions& compute)
    : m_config(config), m_rotary(config.rope, compute) {
    m_embedding =
        loader.take(names.prefix + "embed_tokens.weight", {config.vocabulary, config.hidden});
    for (std::int32_t i = 0; i < config.layers; ++i) {
        m_layers.push_back(takeLayer(fmt::format("{}layers.{}.", names.prefix, i), loader));
    }
    m_norm = loader.takeRmsNorm(names.prefix + "norm", config.hidden, config.rmsNormEps);
    m_head = takeHead(names, loader);
}

Decoder::Layer Decoder::takeLayer(const std::string& prefix, WeightLoader& loader) const {
    const std::int64_t hidden = m_config.hidden;
    const std::int64_t inner = m_config.intermediate;
    const std::int64_t queryRows = std::int64_t{m_config.heads} * m_config.headDim;
    const std::int64_t keyRows = std::int64_t{m_config.kvHeads} * m_config.headDim;
    const auto attention = [&](const char* name, std::int64_t out) {
        return loader.takeLinear(prefix + "self_attn." + name, {out, hidden},
                                 m_config.queryKeyValueBias);
    };
    const auto mlp = [&](const char* name, std::int64_t out, std::int64_t in) {
        return loader.takeLinear(prefix + "mlp." + name, {out, in}, m_config.mlpBias);
    };
    const auto norm = [&](const char* name) {
        return loader.takeRmsNorm(prefix + name, hidden, m_config.rmsNormEps);
    };
    return {.attentionNorm = norm("input_layernorm"),
            .mlpNorm = norm("post_attention_layernorm"),
            .query = attention("q_proj", queryRows),
            .key = attention("k_proj", keyRows),
            .value = attention("v_proj", keyRows),
            .output = loader.takeLinear(prefix + "self_attn.o_proj", {hidden, queryRows},
                                        m_config.outputBias),
            .gate = mlp("gate_proj", inner, hidden),
            .up = mlp("up_proj", inner, hidden),
            .down = mlp("down_proj", hidden, inner)};
}

Linear Decoder::takeHead(const DecoderNames& names, WeightLoader& loader) const {
    if (m_config.tiedEmbeddings && !loader.has(names.head + ".weight")) {
        return {m_embedding, {}};
    }
    Linear head = loader.takeLinear(names.head, {m_config.vocabulary, m_config.hidden}, false);
    if (m_config.tiedEmbeddings && head.weight.defined() && m_embedding.defined() &&
        !at::equal(head.weight, m_embedding)) {
        // As transformers 5 does: two different matrices are there, so both are used (F089).
        log()->warn("config.json ties {0} to the embedding, but the file holds a different {0}: "
                    "the one in the file is used.",
                    names.head);
    }
    return head;
}

at::Tensor Decoder::embed(std::span<const TokenId> ids) const {
    at::Tensor index =
        at::empty({static_cast<std::int64_t>(ids.size())}, at::TensorOptions(c10::kLong));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] < 0 || ids[i] >= m_config.vocabulary) {
            throwBadInput(fmt::format("Token {} has id {}, but the vocabulary has {} entries.", i,
                                      ids[i], m_config.vocabulary));
        }
        index.data_ptr<std::int64_t>()[i] = ids[i];
    }
    return at::embedding(m_embedding, index.to(m_embedding.device()));
}

/// [token, heads * dim] to [token, heads, dim].
at::Tensor Decoder::split(const at::Tensor& projected, std::int32_t heads) const {
    return projected.view({projected.size(0), heads, m_config.headDim});
}

void Decoder::addMlp(const Layer& layer, at::Tensor& hidden, const DecoderPass& pass) const {
    const std::int64_t tokens = hidden.size(0);
    // Bounds both the time between two polls and the memory of the widened rows on a CPU.
    constexpr std::int64_t kOperationsPerBlock = 8'000'000'000;
    constexpr std::int64_t kFewestRows = 32;
    const std::int64_t perRow = 6 * std::int64_t{m_config.hidden} * m_config.intermediate;
    const std::int64_t fitting =
        hidden.device().is_cpu() ? std::max(kFewestRows, kOperationsPerBlock / perRow) : tokens;
    const std::int64_t block = pass.chunk > 0 ? std::min(pass.chunk, fitting) : fitting;
    for (std::int64_t begin = 0; begin < tokens; begin += block) {
        pass.cancel.throwIfCancelled("The model");
        at::Tensor rows = rowsFrom(hidden, 0, begin, std::min(block, tokens - begin));
        const at::Tensor x = layer.mlpNorm(rows);
        rows.add_(layer.down(activate(m_config.activation, layer.gate(x)).mul_(layer.up(x))));
    }
}

at::Tensor Decoder::logits(const at::Tensor& lastHidden) const {
    return m_head(m_norm(lastHidden)).squeeze(0);
}

} // namespace ecokv::model
