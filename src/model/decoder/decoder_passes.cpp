// SPDX-License-Identifier: GPL-3.0-or-later
// The two ways through the layers of a Decoder: a prefill, cut into chunks inside each layer,
// and an extension of a cache that already holds something.
#include "model/decoder/attention.h"
#include "model/decoder/decoder.h"
#include "model/decoder/finite_checks.h"
#include "model/decoder/pass_state.h"
#include "model/tensor_bridge.h"
#include "model/tensor_rows.h"

#include <algorithm>

namespace ecokv::model {

/// How many of a layer's last query rows are needed. The last layer only feeds the logits of the
/// last token.
struct Decoder::RowsWanted {
    std::int64_t window = 0;   ///< by the observer
    std::int64_t computed = 0; ///< as queries
    bool isLast = false;       ///< one row goes on
};

/// Tokens [begin, begin + count) of a call, rotated, model dtype.
struct Decoder::Projected {
    at::Tensor keys, values; ///< [kvHead, token, dim]
    at::Tensor queries;      ///< [head, row, dim], the last `queryRows` of the tokens; or undefined
    at::Tensor gates;        ///< [row, head * dim] of the same rows; undefined = not gated
};

Decoder::RowsWanted Decoder::rowsWanted(std::int32_t index, std::int64_t tokens,
                                        const LayerObserver* observer) const {
    const std::int64_t window =
        observer == nullptr
            ? 0
            : std::clamp<std::int64_t>(observer->windowRows(LayerId{index}), 0, tokens);
    const bool isLast = index + 1 == m_config.layers;
    return {window, isLast ? std::max<std::int64_t>(window, 1) : tokens, isLast};
}

Decoder::Projected Decoder::project(const LayerWeights& layer, const at::Tensor& hidden,
                                    const RotaryTables& tables, std::int64_t queryRows) const {
    const at::Tensor x = layer.attentionNorm(hidden);
    const auto headsOf = [&](const at::Tensor& projected, std::int32_t heads, const RmsNorm& norm) {
        const at::Tensor parts = split(projected, heads);
        return m_config.headNorms ? norm(parts) : parts;
    };
    Projected rows{.keys = rotate(headsOf(layer.key(x), m_config.kvHeads, layer.keyNorm), tables),
                   .values = split(layer.value(x), m_config.kvHeads).transpose(0, 1),
                   .queries = {},
                   .gates = {}};
    if (queryRows > 0) {
        at::Tensor projected = layer.query(lastRows(x, 0, queryRows));
        if (m_config.gatedAttention) {
            const at::Tensor both = projected.view({queryRows, m_config.heads, 2, -1});
            rows.gates = both.select(2, 1).reshape({queryRows, -1});
            projected = both.select(2, 0).reshape({queryRows, -1});
        }
        rows.queries =
            rotate(headsOf(projected, m_config.heads, layer.queryNorm),
                   {lastRows(tables.cosine, 0, queryRows), lastRows(tables.sine, 0, queryRows)});
    }
    return rows;
}

void Decoder::deliver(LayerId layer, const Projected& rows, std::int64_t window,
                      const PassState& state) const {
    if (state.pass().observer == nullptr) {
        return;
    }
    const std::span<const std::int64_t> positions(state.positions());
    state.pass().observer->layerPrefilled(
        {.layer = layer,
         .keys = viewOf(rows.keys),
         .values = viewOf(rows.values),
         .windowQueries = viewOf(lastRows(rows.queries, 1, window)),
         .positions = positions,
         .windowPositions = positions.last(static_cast<std::size_t>(window)),
         .ropePositions = state.ropePositions()});
}

at::Tensor Decoder::prefill(at::Tensor hidden, const DecoderPass& pass) const {
    if (!pass.ropePositions.empty()) {
        pass.cache.setRopePositions(pass.ropePositions);
    }
    const std::int64_t tokens = hidden.size(0);
    const PassState state(m_config, m_rotaries, pass, tokens);
    for (std::int32_t i = 0; i < m_config.layers; ++i) {
        if (m_config.isLinear(LayerId{i})) {
            prefillLinear(i, hidden, state);
        } else {
            prefillAttention(i, hidden, state);
        }
        addMlp(m_layers[i], hidden, pass);
        addDeepFeatures(i, hidden, tokens, pass.deepstack);
        requireFinite(LayerId{i}, m_layers[i], {hidden});
        if (pass.progress) {
            pass.progress({"Prefill", i + 1, m_config.layers, "layers"});
        }
    }
    return logits(hidden);
}

void Decoder::prefillLinear(std::int32_t index, at::Tensor& hidden, const PassState& state) const {
    const LayerWeights& layer = m_layers[index];
    const std::int64_t tokens = hidden.size(0);
    constexpr std::int64_t kRowsPerPoll = 256; // between two looks at the cancellation
    const std::int64_t asked = state.pass().chunk > 0 ? state.pass().chunk : tokens;
    const std::int64_t chunk = std::min(asked, kRowsPerPoll);
    for (std::int64_t begin = 0; begin < tokens; begin += chunk) {
        state.pass().cancel.throwIfCancelled("The prefill");
        at::Tensor rows = rowsFrom(hidden, 0, begin, std::min(chunk, tokens - begin));
        rows.add_(
            layer.deltaNet->run(layer.attentionNorm(rows), state.pass().cache, LayerId{index}));
    }
    if (index + 1 == m_config.layers) {
        hidden = lastRows(hidden, 0, 1);
    }
}

void Decoder::prefillAttention(std::int32_t index, at::Tensor& hidden,
                               const PassState& state) const {
    const LayerId id{index};
    const LayerWeights& layer = m_layers[index];
    cache::KvCache& cache = state.pass().cache;
    const std::int64_t tokens = hidden.size(0);
    const RowsWanted wanted = rowsWanted(index, tokens, state.pass().observer);
    const std::int64_t kept = wanted.isLast ? wanted.computed : wanted.window;
    const at::Tensor keptQueries =
        at::empty({m_config.heads, kept, m_config.headDim}, hidden.options());

    at::Tensor lastGates;
    cache.reserve(id, tokens);
    std::int64_t end = 0;
    for (std::int64_t begin = 0; begin < tokens; begin = end) {
        end = state.chunkEnd(begin);
        const std::int64_t count = end - begin;
        at::Tensor rows = rowsFrom(hidden, 0, begin, count);
        const auto lastOf = [&](std::int64_t wish) {
            return std::clamp<std::int64_t>(end - (tokens - wish), 0, count);
        };
        Projected projected =
            project(layer, rows, state.tablesOf(id, begin, count), lastOf(wanted.computed));
        state.pass().cancel.throwIfCancelled("The prefill");
        cache.append(id, viewOf(projected.keys), viewOf(projected.values),
                     state.positionsOf(begin, count));
        projected.keys.reset(); // the cache has them now
        projected.values.reset();
        if (const std::int64_t keep = lastOf(kept); keep > 0) {
            keptQueries.narrow(1, end - keep - (tokens - kept), keep)
                .copy_(lastRows(projected.queries, 1, keep));
        }
        lastGates = projected.gates;
        if (!wanted.isLast) {
            rows.add_(attentionOut(
                layer, attendCache(state.queryRows(id, projected.queries, begin), cache, id),
                projected.gates));
            state.pass().cancel.throwIfCancelled("The prefill");
        }
    }
    if (wanted.isLast) {
        const at::Tensor query = lastRows(keptQueries, 1, 1);
        hidden = lastRows(hidden, 0, 1) +
                 attentionOut(layer, attendCache(state.queryRows(id, query, tokens - 1), cache, id),
                              lastGates.defined() ? lastRows(lastGates, 0, 1) : lastGates);
    }
    const at::Tensor keys = tensorOf(cache.layerKeys(id)), values = tensorOf(cache.layerValues(id));
    requireFinite(id, layer, {keys, values, keptQueries}); // nobody scores what is not finite
    deliver(id, {keys, values, keptQueries, {}}, wanted.window, state);
}

at::Tensor Decoder::extend(at::Tensor hidden, const DecoderPass& pass) const {
    const PassState state(m_config, m_rotaries, pass, hidden.size(0));
    for (std::int32_t i = 0; i < m_config.layers; ++i) {
        hidden = extendAttention(i, hidden, state);
        addMlp(m_layers[i], hidden, pass);
        if (pass.progress) {
            pass.progress({"Reading on", i + 1, m_config.layers, "layers"});
        }
    }
    return logits(hidden);
}

at::Tensor Decoder::extendAttention(std::int32_t index, const at::Tensor& hidden,
                                    const PassState& state) const {
    const LayerId id{index};
    const LayerWeights& layer = m_layers[index];
    const std::int64_t tokens = hidden.size(0);
    if (layer.deltaNet) {
        const at::Tensor out =
            layer.deltaNet->run(layer.attentionNorm(hidden), state.pass().cache, id);
        return lastRows(hidden + out, 0, index + 1 == m_config.layers ? 1 : tokens);
    }
    const RowsWanted wanted = rowsWanted(index, tokens, state.pass().observer);
    const Projected rows = project(layer, hidden, state.tablesOf(id, 0, tokens), wanted.computed);
    state.pass().cancel.throwIfCancelled("The model");
    state.pass().cache.append(id, viewOf(rows.keys), viewOf(rows.values), state.positions());

    const std::int64_t count = wanted.isLast ? 1 : tokens;
    const at::Tensor queries = lastRows(rows.queries, 1, count);
    const at::Tensor mixed =
        attendCache(state.queryRows(id, queries, tokens - count), state.pass().cache, id);
    deliver(id, rows, wanted.window, state);
    return lastRows(hidden, 0, count) +
           attentionOut(layer, mixed,
                        rows.gates.defined() ? lastRows(rows.gates, 0, count) : rows.gates);
}

} // namespace ecokv::model
