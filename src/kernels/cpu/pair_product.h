#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: products by the bfloat16 dot product instructions of AVX-512 (exact products of pairs,
// fp32 sums), where both sides are bf16 and the processor has them: twice the rate of fp32 for the
// logits of a tile, half its reads for one row through a layer. Highway 1.0 does not know them,
// hence intrinsics.

#include "kernels/cpu/row_source.h"

#include <cstdint>

namespace ecokv::kernels::cpu {

/// This processor has the instructions, and AVX-512 was not ruled out for this run.
bool hasPairProducts();

/// Pairs in the longest row that the product takes.
constexpr std::int64_t kLongestPairRow = 512;

/// One tile of at most kTileTokens bf16 keys; dim a multiple of 8, at most 2 * kLongestPairRow.
struct PairTile {
    RowSource keys;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    const std::uint32_t* queries = nullptr; ///< [panel, dim / 2, kPanelRows] pairs of bf16
    std::int64_t panels = 0;
    std::uint32_t* packed = nullptr; ///< scratch [dim / 2, kTileTokens]
};

/// Raw logits [panel * kPanelRows, kTileTokens]; tokens past the end get 0.
void multiplyPairs(const PairTile& tile, float* logits);

/// out [end - begin] = rows [begin, end) of a bf16 matrix times `vector` [dim] bf16.
void multiplyVectorPairs(const RowSource& matrix, std::int64_t begin, std::int64_t end,
                         const void* vector, float* out);

} // namespace ecokv::kernels::cpu
