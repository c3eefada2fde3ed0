#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: window attention over one tile of tokens of one KV head, vectorised in
// window_tiles.cpp. Softmax is split: each tile keeps exp(logit - its own peak), rows are rescaled
// to the common peak afterwards.

#include "kernels/cpu/row_source.h"

#include <cstdint>

namespace ecokv::kernels::cpu {

constexpr std::int64_t kTileTokens = 128;
constexpr std::int64_t kPanelRows = 8; ///< query rows that are multiplied together

inline std::int64_t paddedRows(std::int64_t rows) {
    return (rows + kPanelRows - 1) / kPanelRows * kPanelRows;
}

struct WindowTile {
    RowSource keys;
    std::int64_t begin = 0;                    ///< first token
    std::int64_t end = 0;                      ///< one past the last, at most kTileTokens later
    const float* queries = nullptr;            ///< [panel, dim, kPanelRows]
    const std::uint32_t* queryPairs = nullptr; ///< [panel, dim / 2, kPanelRows]: use pair products
    std::int64_t rows = 0;
    float scale = 1.0F;
    const std::int64_t* rowPositions = nullptr; ///< [row] true position of the query
    const std::int64_t* keyPositions = nullptr; ///< [token]
    bool allVisible = false;                    ///< every row sees every token of the tile
    float* packed = nullptr;                    ///< scratch [paddedDim(dim), kTileTokens]
    float* keyRows = nullptr;                   ///< scratch [4, paddedDim(dim)]
};

/// What a tile leaves behind: weights [paddedRows(rows), kTileTokens], peak and total [row].
struct TileWeights {
    float* weights = nullptr;
    float* peak = nullptr;  ///< -inf: the row sees nothing here
    float* total = nullptr; ///< sum of the row's weights
};

void attendTile(const WindowTile& tile, const TileWeights& out);
/// importance[i] += sum over rows of factor[row] * weights[row][i], rows in order.
void addTile(const float* weights, const float* factor, std::int64_t rows, std::int64_t tokens,
             float* importance);

} // namespace ecokv::kernels::cpu
