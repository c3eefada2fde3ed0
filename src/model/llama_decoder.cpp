// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/llama_decoder.h"

#include "base/error.h"
#include "base/log.h"
#include "model/attention.h"
#include "model/tensor_bridge.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace ecokv::model {

namespace {

/// The last `count` rows of a dimension; of a tensor that has no more, the tensor itself.
at::Tensor lastRows(const at::Tensor& t, std::int64_t dimension, std::int64_t count) {
    const std::int64_t size = t.size(dimension);
    return count == size ? t : t.narrow(dimension, size - count, count);
}

} // namespace

/// What all layers of one call share.
struct LlamaDecoder::ForwardState {
    const DecoderPass& pass;
    RotaryTables tables;
    std::vector<std::int64_t> positions; ///< [token]
};

/// How many of a layer's last query rows are needed. The last layer only feeds the logits of the
/// last token.
struct LlamaDecoder::RowsWanted {
    std::int64_t window = 0;   ///< by the observer
    std::int64_t computed = 0; ///< as queries
    std::int64_t mixed = 0;    ///< through the attention
};

/// What an observer may be given of a layer.
struct LlamaDecoder::LayerRows {
    const at::Tensor& keys;    ///< [kvHead, token, dim]
    const at::Tensor& values;  ///< [kvHead, token, dim]
    const at::Tensor& queries; ///< [head, row, dim], the last rows
    std::int64_t window = 0;   ///< of them, the observer wants the last so many
};

LlamaDecoder::LlamaDecoder(const DecoderConfig& config, const Names& names, WeightLoader& loader,
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

LlamaDecoder::Layer LlamaDecoder::takeLayer(const std::string& prefix, WeightLoader& loader) const {
    const std::int64_t hidden = m_config.hidden;
    const std::int64_t inner = m_config.intermediate;
    const std::int64_t queryRows = std::int64_t{m_config.heads} * m_config.headDim;
    const std::int64_t keyRows = std::int64_t{m_config.kvHeads} * m_config.headDim;
    const auto attention = [&](const char* name, std::int64_t out, std::int64_t in) {
        return loader.takeLinear(prefix + "self_attn." + name, {out, in}, m_config.attentionBias);
    };
    const auto mlp = [&](const char* name, std::int64_t out, std::int64_t in) {
        return loader.takeLinear(prefix + "mlp." + name, {out, in}, m_config.mlpBias);
    };
    const auto norm = [&](const char* name) {
        return loader.takeRmsNorm(prefix + name, hidden, m_config.rmsNormEps);
    };
    return {.attentionNorm = norm("input_layernorm"),
            .mlpNorm = norm("post_attention_layernorm"),
            .query = attention("q_proj", queryRows, hidden),
            .key = attention("k_proj", keyRows, hidden),
            .value = attention("v_proj", keyRows, hidden),
            .output = attention("o_proj", hidden, queryRows),
            .gate = mlp("gate_proj", inner, hidden),
            .up = mlp("up_proj", inner, hidden),
            .down = mlp("down_proj", hidden, inner)};
}

Linear LlamaDecoder::takeHead(const Names& names, WeightLoader& loader) const {
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

at::Tensor LlamaDecoder::embed(std::span<const TokenId> ids) const {
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
at::Tensor LlamaDecoder::split(const at::Tensor& projected, std::int32_t heads) const {
    return projected.view({projected.size(0), heads, m_config.headDim});
}

at::Tensor LlamaDecoder::prefill(at::Tensor hidden, const DecoderPass& pass) const {
    ForwardState state{pass, {}, std::vector<std::int64_t>(hidden.size(0))};
    std::iota(state.positions.begin(), state.positions.end(), 0);
    state.tables = m_rotary.tables(state.positions);
    for (std::int32_t i = 0; i < m_config.layers; ++i) {
        const Layer& layer = m_layers[i];
        const at::Tensor mixed = prefillAttention(i, layer.attentionNorm(hidden), state);
        // One row in the last layer.
        hidden = lastRows(hidden, 0, mixed.size(0)) + mixed;
        hidden = hidden + mlp(layer, layer.mlpNorm(hidden), pass.cancel);
        if (pass.progress) {
            pass.progress({"Prefill", i + 1, m_config.layers, "layers"});
        }
    }
    return logits(hidden);
}

LlamaDecoder::RowsWanted LlamaDecoder::rowsWanted(std::int32_t index, std::int64_t tokens,
                                                  const LayerObserver* observer) const {
    const std::int64_t window =
        observer == nullptr
            ? 0
            : std::clamp<std::int64_t>(observer->windowRows(LayerId{index}), 0, tokens);
    if (index + 1 < m_config.layers) {
        return {window, tokens, tokens};
    }
    return {window, std::max<std::int64_t>(window, 1), 1};
}

void LlamaDecoder::deliver(LayerId layer, const LayerRows& rows, const ForwardState& state) const {
    if (state.pass.observer == nullptr) {
        return;
    }
    const std::span<const std::int64_t> positions(state.positions);
    state.pass.observer->layerPrefilled(
        {.layer = layer,
         .keys = viewOf(rows.keys),
         .values = viewOf(rows.values),
         .windowQueries = viewOf(lastRows(rows.queries, 1, rows.window)),
         .positions = positions,
         .windowPositions = positions.last(static_cast<std::size_t>(rows.window))});
}

at::Tensor LlamaDecoder::prefillAttention(std::int32_t index, const at::Tensor& x,
                                          const ForwardState& state) const {
    const Layer& layer = m_layers[index];
    const DecoderPass& pass = state.pass;
    const RowsWanted wanted = rowsWanted(index, x.size(0), pass.observer);
    const auto tail = [&](const at::Tensor& t) { return lastRows(t, 0, wanted.computed); };
    const at::Tensor keys = rotate(split(layer.key(x), m_config.kvHeads), state.tables);
    const at::Tensor values = split(layer.value(x), m_config.kvHeads).transpose(0, 1).contiguous();
    const at::Tensor queries = rotate(split(layer.query(tail(x)), m_config.heads),
                                      {tail(state.tables.cosine), tail(state.tables.sine)});
    pass.cancel.throwIfCancelled("The prefill");
    const at::Tensor mixed = wanted.mixed == 1 ? attendAll(lastRows(queries, 1, 1), keys, values)
                                               : attendCausal(queries, keys, values);
    pass.cancel.throwIfCancelled("The prefill");

    pass.cache.append(LayerId{index}, viewOf(keys), viewOf(values), state.positions);
    deliver(LayerId{index}, {keys, values, queries, wanted.window}, state);
    return layer.output(mixed);
}

at::Tensor LlamaDecoder::mlp(const Layer& layer, const at::Tensor& x,
                             const CancellationToken& cancel) const {
    const auto block = [&](const at::Tensor& rows) {
        cancel.throwIfCancelled("The model");
        return layer.down(activate(m_config.activation, layer.gate(rows)).mul_(layer.up(rows)));
    };
    // Bounds both the time between two polls and the memory of the widened rows on a CPU.
    constexpr std::int64_t kOperationsPerBlock = 8'000'000'000;
    constexpr std::int64_t kFewestRows = 32;
    const std::int64_t perRow = 6 * std::int64_t{m_config.hidden} * m_config.intermediate;
    const std::int64_t rows = std::max(kFewestRows, kOperationsPerBlock / perRow);
    if (x.size(0) <= rows || !x.device().is_cpu()) {
        return block(x);
    }
    at::Tensor out = at::empty(x.sizes(), x.options());
    for (std::int64_t begin = 0; begin < x.size(0); begin += rows) {
        const std::int64_t count = std::min(rows, x.size(0) - begin);
        out.narrow(0, begin, count).copy_(block(x.narrow(0, begin, count)));
    }
    return out;
}

at::Tensor LlamaDecoder::extend(at::Tensor hidden, const DecoderPass& pass) const {
    ForwardState state{pass, {}, std::vector<std::int64_t>(hidden.size(0))};
    // Read before the first append: it is the number of tokens seen, not of rows kept (F017).
    std::iota(state.positions.begin(), state.positions.end(), pass.cache.tokensSeen());
    state.tables = m_rotary.tables(state.positions);
    for (std::int32_t i = 0; i < m_config.layers; ++i) {
        const Layer& layer = m_layers[i];
        const at::Tensor mixed = extendAttention(i, layer.attentionNorm(hidden), state);
        hidden = lastRows(hidden, 0, mixed.size(0)) + mixed;
        hidden = hidden + mlp(layer, layer.mlpNorm(hidden), pass.cancel);
        if (pass.progress) {
            pass.progress({"Reading on", i + 1, m_config.layers, "layers"});
        }
    }
    return logits(hidden);
}

at::Tensor LlamaDecoder::extendAttention(std::int32_t index, const at::Tensor& x,
                                         const ForwardState& state) const {
    const Layer& layer = m_layers[index];
    const DecoderPass& pass = state.pass;
    const RowsWanted wanted = rowsWanted(index, x.size(0), pass.observer);
    const auto tail = [&](const at::Tensor& t) { return lastRows(t, 0, wanted.computed); };
    const at::Tensor keys = rotate(split(layer.key(x), m_config.kvHeads), state.tables);
    const at::Tensor values = split(layer.value(x), m_config.kvHeads).transpose(0, 1);
    const at::Tensor queries = rotate(split(layer.query(tail(x)), m_config.heads),
                                      {tail(state.tables.cosine), tail(state.tables.sine)});
    pass.cancel.throwIfCancelled("The model");

    pass.cache.append(LayerId{index}, viewOf(keys), viewOf(values), state.positions);
    const std::span<const std::int64_t> positions(state.positions);
    const at::Tensor attending = lastRows(queries, 1, wanted.mixed);
    const at::Tensor mixed =
        attendCache({attending, positions.last(static_cast<std::size_t>(wanted.mixed))}, pass.cache,
                    LayerId{index});
    deliver(LayerId{index}, {keys, values, queries, wanted.window}, state);
    return layer.output(mixed);
}

at::Tensor LlamaDecoder::logits(const at::Tensor& lastHidden) const {
    return m_head(m_norm(lastHidden)).squeeze(0);
}

} // namespace ecokv::model
