// SPDX-License-Identifier: GPL-3.0-or-later
// Query rows of a KV head go in chunks of at most 64, tokens in tiles of 128 on threads. Memory is
// one fp32 weight per chunk row and token, whatever the window and the group are.
#include "kernels/backends.h"
#include "kernels/cpu/pair_product.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/window_tiles.h"
#include "kernels/row_access.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace ecokv::kernels::cpu {

namespace {

constexpr std::int64_t kChunkRows = 64;

/// Largest true position of each tile: decides whether a tile needs a mask.
std::vector<std::int64_t> lastPositions(const std::int64_t* positions, std::int64_t tokens) {
    std::vector<std::int64_t> last;
    for (std::int64_t begin = 0; begin < tokens; begin += kTileTokens) {
        const std::int64_t end = std::min(begin + kTileTokens, tokens);
        last.push_back(*std::max_element(positions + begin, positions + end));
    }
    return last;
}

class WindowAttention {
public:
    WindowAttention(const WindowImportanceInput& input, float* importance)
        : m_input(input), m_importance(importance), m_tokens(input.keys.shape[1]),
          m_dim(input.keys.shape[2]), m_window(input.queries.shape[1]),
          m_rows(input.queries.shape[0] / input.keys.shape[0] * m_window),
          m_chunk(chunkRows(m_rows)), m_tiles((m_tokens + kTileTokens - 1) / kTileTokens),
          m_lastPositions(lastPositions(input.keyPositions, m_tokens)),
          m_rowPositions(static_cast<std::size_t>(m_chunk)), m_usePairs(canUsePairs(input)),
          m_queries(paddedRows(m_chunk) * m_dim),
          m_queryPairs(m_usePairs ? paddedRows(m_chunk) * m_dim / 2 : 0),
          m_weights(m_tiles * paddedRows(m_chunk) * kTileTokens, Contents::Any),
          m_peaks(m_tiles * m_chunk), m_totals(m_tiles * m_chunk), m_factors(m_tiles * m_chunk),
          m_packed(maxThreads() * paddedDim(m_dim) * kTileTokens, Contents::Any),
          m_keyRows(maxThreads() * paddedDim(m_dim) * 4) {}

    void run() {
        std::fill_n(m_importance, m_input.keys.shape[0] * m_tokens, 0.0F);
        for (std::int64_t kvHead = 0; kvHead < m_input.keys.shape[0]; ++kvHead) {
            for (std::int64_t first = 0; first < m_rows; first += m_chunk) {
                addChunk(kvHead, first, std::min(m_chunk, m_rows - first));
            }
        }
    }

private:
    /// Equal chunks, at most kChunkRows each.
    static std::int64_t chunkRows(std::int64_t rows) {
        const std::int64_t chunks = std::max<std::int64_t>(1, (rows + kChunkRows - 1) / kChunkRows);
        return (rows + chunks - 1) / chunks;
    }

    void addChunk(std::int64_t kvHead, std::int64_t first, std::int64_t rows) {
        packQueries(kvHead, first, rows);
        const std::int64_t earliest =
            *std::min_element(m_rowPositions.begin(), m_rowPositions.begin() + rows);
        parallelFor(m_tiles, m_tokens * rows * m_dim / 16, [&](std::int64_t t, int thread) {
            WindowTile tile;
            tile.keys = rowsOfHead(m_input.keys, kvHead);
            tile.begin = t * kTileTokens;
            tile.end = std::min(tile.begin + kTileTokens, m_tokens);
            tile.queries = m_queries.data();
            tile.queryPairs = m_usePairs ? m_queryPairs.data() : nullptr;
            tile.rows = rows;
            tile.scale = m_input.scale;
            tile.rowPositions = m_rowPositions.data();
            tile.keyPositions = m_input.keyPositions;
            tile.allVisible = m_lastPositions[static_cast<std::size_t>(t)] <= earliest;
            tile.packed = m_packed.slot(thread, paddedDim(m_dim) * kTileTokens);
            tile.keyRows = m_keyRows.slot(thread, paddedDim(m_dim) * 4);
            attendTile(tile, {weights(t), m_peaks.slot(t, m_chunk), m_totals.slot(t, m_chunk)});
        });
        rescale(rows);
        parallelFor(m_tiles, m_tokens * rows, [&](std::int64_t t, int) {
            const std::int64_t begin = t * kTileTokens;
            addTile(weights(t), m_factors.slot(t, m_chunk), rows,
                    std::min(kTileTokens, m_tokens - begin),
                    m_importance + kvHead * m_tokens + begin);
        });
    }

    float* weights(std::int64_t tile) const {
        return m_weights.slot(tile, paddedRows(m_chunk) * kTileTokens);
    }

    /// [panel, dim, kPanelRows]; rows beyond the chunk keep the values of an earlier one, which no
    /// result uses.
    void packQueries(std::int64_t kvHead, std::int64_t first, std::int64_t rows) {
        const std::int64_t group = m_rows / m_window;
        std::vector<float> query(static_cast<std::size_t>(m_dim));
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t row = first + r;
            readRowAsIs(m_input.queries, kvHead * group + row / m_window, row % m_window,
                        query.data());
            m_rowPositions[static_cast<std::size_t>(r)] = m_input.queryPositions[row % m_window];
            if (m_usePairs) {
                packPairs(query, r);
                continue;
            }
            float* to = m_queries.data() + r / kPanelRows * m_dim * kPanelRows + r % kPanelRows;
            for (std::int64_t k = 0; k < m_dim; ++k) {
                to[k * kPanelRows] = query[static_cast<std::size_t>(k)];
            }
        }
    }

    /// Row `r` of the chunk as pairs of bf16, [panel, dim / 2, kPanelRows].
    void packPairs(const std::vector<float>& query, std::int64_t r) {
        std::uint32_t* to =
            m_queryPairs.data() + r / kPanelRows * m_dim / 2 * kPanelRows + r % kPanelRows;
        for (std::size_t k = 0; k < query.size(); k += 2) {
            const std::uint32_t low = floatToBf16(query[k]); // exact: the query is bf16
            const std::uint32_t high = floatToBf16(query[k + 1]);
            to[static_cast<std::int64_t>(k) / 2 * kPanelRows] = low | high << 16;
        }
    }

    static bool canUsePairs(const WindowImportanceInput& input) {
        const std::int64_t dim = input.keys.shape[2];
        return input.keys.dtype == DType::BF16 && input.queries.dtype == DType::BF16 &&
               dim % 8 == 0 && dim <= 2 * kLongestPairRow && hasPairProducts();
    }

    /// Factors that bring each tile's weights to the row's softmax, divided by the number of rows.
    void rescale(std::int64_t rows) {
        for (std::int64_t row = 0; row < rows; ++row) {
            float peak = -std::numeric_limits<float>::infinity();
            for (std::int64_t t = 0; t < m_tiles; ++t) {
                peak = std::max(peak, m_peaks.slot(t, m_chunk)[row]);
            }
            double total = 0;
            for (std::int64_t t = 0; t < m_tiles; ++t) {
                total +=
                    static_cast<double>(m_totals.slot(t, m_chunk)[row]) * relative(t, row, peak);
            }
            for (std::int64_t t = 0; t < m_tiles; ++t) {
                const double share = total > 0 ? relative(t, row, peak) / total : 0.0;
                m_factors.slot(t, m_chunk)[row] =
                    static_cast<float>(share / static_cast<double>(m_rows));
            }
        }
    }

    /// exp(peak of the tile - peak of the row); 0 for a tile that the row does not see.
    double relative(std::int64_t tile, std::int64_t row, float peak) const {
        const float own = m_peaks.slot(tile, m_chunk)[row];
        return std::isfinite(own) ? std::exp(static_cast<double>(own) - static_cast<double>(peak))
                                  : 0.0;
    }

    const WindowImportanceInput& m_input;
    float* m_importance;
    std::int64_t m_tokens, m_dim, m_window, m_rows, m_chunk, m_tiles;
    std::vector<std::int64_t> m_lastPositions; ///< [tile]
    std::vector<std::int64_t> m_rowPositions;  ///< [row]
    bool m_usePairs;
    Scratch<float> m_queries;                    ///< [panel, dim, kPanelRows]
    Scratch<std::uint32_t> m_queryPairs;         ///< [panel, dim / 2, kPanelRows]
    Scratch<float> m_weights;                    ///< [tile, row, kTileTokens]
    Scratch<float> m_peaks, m_totals, m_factors; ///< [tile, row]
    Scratch<float> m_packed, m_keyRows;          ///< per thread
};

} // namespace

Status windowImportance(const WindowImportanceInput& input, float* importance) {
    const std::int64_t kvHeads = input.keys.shape[0];
    const std::int64_t tokens = input.keys.shape[1];
    if (kvHeads == 0 || tokens == 0) {
        return Status::Ok;
    }
    if (input.queries.shape[0] * input.queries.shape[1] == 0) {
        std::fill_n(importance, kvHeads * tokens, 0.0F); // window 0: nothing is asked for (F013)
        return Status::Ok;
    }
    WindowAttention(input, importance).run();
    return Status::Ok;
}

} // namespace ecokv::kernels::cpu
