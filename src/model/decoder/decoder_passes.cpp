// SPDX-License-Identifier: GPL-3.0-or-later
// The two ways through the layers of a Decoder: a prefill, cut into chunks inside each layer,
// and an extension of a cache that already holds something.
#include "model/decoder/attention.h"
#include "model/decoder/decoder.h"
#include "model/tensor_bridge.h"
#include "model/tensor_rows.h"

#include <algorithm>
#include <numeric>

namespace ecokv::model {

/// What all layers of one call share.
struct Decoder::ForwardState {
    const DecoderPass& pass;
    RotaryTables tables;
    std::vector<std::int64_t> positions; ///< [token]

    std::span<const std::int64_t> positionsOf(std::int64_t begin, std::int64_t count) const {
        return std::span(positions).subspan(static_cast<std::size_t>(begin),
                                            static_cast<std::size_t>(count));
    }
    RotaryTables tablesOf(std::int64_t begin, std::int64_t count) const {
        return {rowsFrom(tables.cosine, 0, begin, count), rowsFrom(tables.sine, 0, begin, count)};
    }
};

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
};

Decoder::ForwardState Decoder::begin(const at::Tensor& hidden, const DecoderPass& pass) const {
    ForwardState state{pass, {}, std::vector<std::int64_t>(hidden.size(0))};
    // Read before the first append: it is the number of tokens seen, not of rows kept (F017).
    std::iota(state.positions.begin(), state.positions.end(), pass.cache.tokensSeen());
    state.tables = m_rotary.tables(state.positions);
    return state;
}

Decoder::RowsWanted Decoder::rowsWanted(std::int32_t index, std::int64_t tokens,
                                        const LayerObserver* observer) const {
    const std::int64_t window =
        observer == nullptr
            ? 0
            : std::clamp<std::int64_t>(observer->windowRows(LayerId{index}), 0, tokens);
    const bool isLast = index + 1 == m_config.layers;
    return {window, isLast ? std::max<std::int64_t>(window, 1) : tokens, isLast};
}

Decoder::Projected Decoder::project(const Layer& layer, const at::Tensor& hidden,
                                    const RotaryTables& tables, std::int64_t queryRows) const {
    const at::Tensor x = layer.attentionNorm(hidden);
    Projected rows{.keys = rotate(split(layer.key(x), m_config.kvHeads), tables),
                   .values = split(layer.value(x), m_config.kvHeads).transpose(0, 1),
                   .queries = {}};
    if (queryRows > 0) {
        rows.queries =
            rotate(split(layer.query(lastRows(x, 0, queryRows)), m_config.heads),
                   {lastRows(tables.cosine, 0, queryRows), lastRows(tables.sine, 0, queryRows)});
    }
    return rows;
}

void Decoder::deliver(LayerId layer, const Projected& rows, std::int64_t window,
                      const ForwardState& state) const {
    if (state.pass.observer == nullptr) {
        return;
    }
    const std::span<const std::int64_t> positions(state.positions);
    state.pass.observer->layerPrefilled(
        {.layer = layer,
         .keys = viewOf(rows.keys),
         .values = viewOf(rows.values),
         .windowQueries = viewOf(lastRows(rows.queries, 1, window)),
         .positions = positions,
         .windowPositions = positions.last(static_cast<std::size_t>(window)),
         .ropePositions = state.pass.ropePositions});
}

at::Tensor Decoder::prefill(at::Tensor hidden, const DecoderPass& pass) const {
    const ForwardState state = begin(hidden, pass);
    for (std::int32_t i = 0; i < m_config.layers; ++i) {
        prefillAttention(i, hidden, state);
        addMlp(m_layers[i], hidden, pass);
        if (pass.progress) {
            pass.progress({"Prefill", i + 1, m_config.layers, "layers"});
        }
    }
    return logits(hidden);
}

void Decoder::prefillAttention(std::int32_t index, at::Tensor& hidden,
                               const ForwardState& state) const {
    const LayerId id{index};
    const Layer& layer = m_layers[index];
    cache::KvCache& cache = state.pass.cache;
    const std::int64_t tokens = hidden.size(0);
    const std::int64_t chunk = state.pass.chunk > 0 ? state.pass.chunk : tokens;
    const RowsWanted wanted = rowsWanted(index, tokens, state.pass.observer);
    const std::int64_t slide = m_config.slidingWindows[id.index()];
    const std::int64_t kept = wanted.isLast ? wanted.computed : wanted.window;
    const at::Tensor keptQueries =
        at::empty({m_config.heads, kept, m_config.headDim}, hidden.options());

    cache.reserve(id, tokens);
    for (std::int64_t begin = 0; begin < tokens; begin += chunk) {
        const std::int64_t count = std::min(chunk, tokens - begin);
        const std::int64_t end = begin + count;
        at::Tensor rows = rowsFrom(hidden, 0, begin, count);
        const auto lastOf = [&](std::int64_t wish) {
            return std::clamp<std::int64_t>(end - (tokens - wish), 0, count);
        };
        Projected projected =
            project(layer, rows, state.tablesOf(begin, count), lastOf(wanted.computed));
        state.pass.cancel.throwIfCancelled("The prefill");
        const auto positions = state.positionsOf(begin, count);
        cache.append(id, viewOf(projected.keys), viewOf(projected.values), positions);
        projected.keys.reset(); // the cache has them now
        projected.values.reset();
        if (const std::int64_t keep = lastOf(kept); keep > 0) {
            keptQueries.narrow(1, end - keep - (tokens - kept), keep)
                .copy_(lastRows(projected.queries, 1, keep));
        }
        if (!wanted.isLast) {
            rows.add_(layer.output(attendCache({projected.queries, positions, slide}, cache, id)));
            state.pass.cancel.throwIfCancelled("The prefill");
        }
    }
    if (wanted.isLast) {
        const at::Tensor query = lastRows(keptQueries, 1, 1);
        hidden =
            lastRows(hidden, 0, 1) +
            layer.output(attendCache({query, state.positionsOf(tokens - 1, 1), slide}, cache, id));
    }
    deliver(id, {tensorOf(cache.layerKeys(id)), tensorOf(cache.layerValues(id)), keptQueries},
            wanted.window, state);
}

at::Tensor Decoder::extend(at::Tensor hidden, const DecoderPass& pass) const {
    const ForwardState state = begin(hidden, pass);
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
                                    const ForwardState& state) const {
    const LayerId id{index};
    const Layer& layer = m_layers[index];
    const std::int64_t tokens = hidden.size(0);
    const RowsWanted wanted = rowsWanted(index, tokens, state.pass.observer);
    const Projected rows = project(layer, hidden, state.tables, wanted.computed);
    state.pass.cancel.throwIfCancelled("The model");
    state.pass.cache.append(id, viewOf(rows.keys), viewOf(rows.values), state.positions);

    const std::int64_t count = wanted.isLast ? 1 : tokens;
    const at::Tensor queries = lastRows(rows.queries, 1, count);
    const at::Tensor mixed = attendCache(
        {queries, state.positionsOf(tokens - count, count), m_config.slidingWindows[id.index()]},
        state.pass.cache, id);
    deliver(id, rows, wanted.window, state);
    return lastRows(hidden, 0, count) + layer.output(mixed);
}

} // namespace ecokv::model
