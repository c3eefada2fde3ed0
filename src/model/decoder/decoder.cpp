// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/decoder.h"

#include "base/error.h"
#include "base/log.h"
#include "model/file_advice.h"
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
    : m_config(config) {
    for (const RopeSettings& settings : config.ropes.settings) {
        m_rotaries.emplace_back(settings, compute);
    }
    m_embedding =
        loader.take(names.prefix + "embed_tokens.weight", {config.vocabulary, config.hidden});
    // The reference keeps the scale in the dtype of the weights: 55.4 becomes 55.5 in bf16.
    m_embeddingScale = at::scalar_tensor(config.embeddingScale, compute).item<double>();
    for (std::int32_t i = 0; i < config.layers; ++i) {
        m_layers.push_back(takeLayerWeights(config, fmt::format("{}layers.{}.", names.prefix, i),
                                            LayerId{i}, loader));
    }
    m_norm = takeDecoderNorm(config, names.prefix + "norm", config.hidden, loader);
    m_head = takeHead(names, loader);
}

Linear Decoder::takeHead(const DecoderNames& names, WeightLoader& loader) const {
    if (m_config.tiedEmbeddings && !loader.has(names.head + ".weight")) {
        return {m_embedding, {}};
    }
    Linear head = loader.takeLinear(names.head, {m_config.vocabulary, m_config.hidden}, false);
    const bool bothRead = head.weight.defined() && !head.weight.is_meta() && m_embedding.defined();
    if (m_config.tiedEmbeddings && bothRead && !at::equal(head.weight, m_embedding)) {
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
                                      ids[i], m_config.vocabulary),
                          kMixedFilesAdvice);
        }
        index.data_ptr<std::int64_t>()[i] = ids[i];
    }
    at::Tensor embedded = at::embedding(m_embedding, index.to(m_embedding.device()));
    return m_embeddingScale == 1.0 ? embedded : embedded.mul_(m_embeddingScale);
}

/// [token, heads * dim] to [token, heads, dim].
at::Tensor Decoder::split(const at::Tensor& projected, std::int32_t heads) const {
    return projected.view({projected.size(0), heads, m_config.headDim});
}

void Decoder::addMlp(const LayerWeights& layer, at::Tensor& hidden, const DecoderPass& pass) const {
    const std::int64_t tokens = hidden.size(0);
    // Bounds both the time between two polls and the memory of the widened rows on a CPU.
    constexpr std::int64_t kOperationsPerBlock = 40'000'000'000;
    constexpr std::int64_t kFewestRows = 256; // fewer would pack every weight for too little work
    const std::int64_t perRow = 6 * std::int64_t{m_config.hidden} * m_config.intermediate;
    const std::int64_t fitting =
        hidden.device().is_cpu() ? std::max(kFewestRows, kOperationsPerBlock / perRow) : tokens;
    const std::int64_t most = pass.chunk > 0 ? std::min(pass.chunk, fitting) : fitting;
    const std::int64_t blocks = (tokens + most - 1) / most;
    const std::int64_t block = (tokens + blocks - 1) / blocks; // none is left with a few rows
    for (std::int64_t begin = 0; begin < tokens; begin += block) {
        pass.cancel.throwIfCancelled("The model");
        at::Tensor rows = rowsFrom(hidden, 0, begin, std::min(block, tokens - begin));
        const at::Tensor x = layer.mlpNorm(rows);
        at::Tensor out = layer.down(activate(m_config.activation, layer.gate(x)).mul_(layer.up(x)));
        rows.add_(m_config.normsBehindBlocks ? layer.behindMlp(out) : out);
    }
}

at::Tensor Decoder::attentionOut(const LayerWeights& layer, const at::Tensor& mixed,
                                 const at::Tensor& gates) const {
    at::Tensor out = layer.output(gates.defined() ? mixed * at::sigmoid(gates) : mixed);
    return m_config.normsBehindBlocks ? layer.behindAttention(out) : out;
}

void Decoder::addDeepFeatures(std::int32_t index, at::Tensor& hidden, std::int64_t tokens,
                              const DeepFeatures& deep) const {
    if (static_cast<std::size_t>(index) >= deep.layers.size()) {
        return;
    }
    const at::Tensor& features = deep.layers[static_cast<std::size_t>(index)];
    if (hidden.size(0) == tokens) {
        hidden.index_add_(0, deep.tokens, features);
        return;
    }
    // The last layer leaves the last token only.
    const std::int64_t last = deep.tokens.size(0) - 1;
    if (deep.tokens[last].item<std::int64_t>() == tokens - 1) {
        hidden.add_(features.narrow(0, last, 1));
    }
}

at::Tensor Decoder::logits(const at::Tensor& lastHidden) const {
    return m_head(m_norm(lastHidden)).squeeze(0);
}

} // namespace ecokv::model
