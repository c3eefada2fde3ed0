// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/pass_state.h"

#include "model/tensor_rows.h"

#include <algorithm>
#include <numeric>

namespace ecokv::model {

namespace {

/// [token] the run of image tokens a token is in, or itself alone; empty without image tokens.
/// `imageIndex` [token], `first` the position of token 0.
std::vector<PositionRun> pictureRuns(std::span<const std::int32_t> imageIndex, std::int64_t first) {
    if (std::ranges::none_of(imageIndex, [](std::int32_t image) { return image >= 0; })) {
        return {};
    }
    std::vector<PositionRun> runs(imageIndex.size());
    for (std::size_t begin = 0, end = 0; begin < runs.size(); begin = end) {
        end = begin + 1;
        while (imageIndex[begin] >= 0 && end < runs.size() &&
               imageIndex[end] == imageIndex[begin]) {
            ++end;
        }
        const PositionRun run{first + static_cast<std::int64_t>(begin),
                              first + static_cast<std::int64_t>(end) - 1};
        std::fill(runs.begin() + static_cast<std::ptrdiff_t>(begin),
                  runs.begin() + static_cast<std::ptrdiff_t>(end), run);
    }
    return runs;
}

} // namespace

PassState::PassState(const DecoderConfig& config, const std::vector<Rotary>& rotaries,
                     const DecoderPass& pass, std::int64_t tokens)
    : m_config(config), m_pass(pass), m_positions(static_cast<std::size_t>(tokens)) {
    const cache::KvCache& cache = pass.cache;
    const std::int64_t first = cache.tokensSeen();
    std::iota(m_positions.begin(), m_positions.end(), first);
    if (cache.positionShift() != 0 || !cache.ropePositions().empty()) {
        std::ranges::transform(m_positions, std::back_inserter(m_ropePositions),
                               [&](std::int64_t p) { return cache.ropePosition(p); });
    }
    for (const Rotary& rotary : rotaries) {
        m_tables.push_back(m_ropePositions.empty() ? rotary.tables(m_positions)
                                                   : rotary.tables(m_ropePositions));
    }
    if (config.picturesSeeThemselves) {
        m_runs = pictureRuns(pass.imageIndex, first);
    }
}

std::span<const std::int64_t> PassState::positionsOf(std::int64_t begin, std::int64_t count) const {
    return positions().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
}

RotaryTables PassState::tablesOf(LayerId layer, std::int64_t begin, std::int64_t count) const {
    const std::vector<std::uint8_t>& ofLayer = m_config.ropes.ofLayer;
    const RotaryTables& tables = m_tables[ofLayer.empty() ? 0 : ofLayer[layer.index()]];
    return {rowsFrom(tables.cosine, 0, begin, count), rowsFrom(tables.sine, 0, begin, count)};
}

QueryRows PassState::queryRows(LayerId layer, const at::Tensor& queries, std::int64_t begin) const {
    const std::int64_t window = m_config.slidingWindows[layer.index()];
    return QueryRows{queries, m_positions, window, m_runs}.part(queries, begin, queries.size(1));
}

std::int64_t PassState::chunkEnd(std::int64_t begin) const {
    const std::int64_t end = m_pass.chunk > 0 ? std::min(begin + m_pass.chunk, tokens()) : tokens();
    if (m_runs.empty() || end == tokens()) {
        return end;
    }
    const std::int64_t first = m_positions.front();
    const PositionRun& run = m_runs[static_cast<std::size_t>(end)];
    const std::int64_t runBegin = run.first - first;
    return runBegin > begin ? runBegin : run.last - first + 1;
}

} // namespace ecokv::model
