// SPDX-License-Identifier: GPL-3.0-or-later
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/window_tiles.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "kernels/cpu/pair_product.h"
#include "kernels/cpu/window_tiles.h"

#include <cstring>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace ecokv::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/cpu/load_row.inc"

using Float = hn::ScalableTag<float>;
constexpr float kHidden = -std::numeric_limits<float>::infinity();

/// Tokens that one column of the product covers: two vectors.
HWY_INLINE size_t ColumnTokens() {
    return 2 * hn::Lanes(Float());
}

/// Writes four key rows as columns `token` .. `token + 3` of the packed tile
/// [column, dim, ColumnTokens()].
HWY_INLINE void TransposeFour(const float* HWY_RESTRICT rows, size_t padded, size_t token,
                              float* HWY_RESTRICT packed) {
    const size_t width = ColumnTokens();
#if HWY_TARGET == HWY_SCALAR
    for (size_t t = token; t < token + 4; ++t, rows += padded) {
        float* to = packed + t / width * width * padded + t % width;
        for (size_t k = 0; k < padded; ++k) {
            to[k * width] = rows[k];
        }
    }
#else
    const hn::FixedTag<float, 4> d4;
    float* to = packed + token / width * width * padded + token % width;
    for (size_t k = 0; k < padded; k += 4) {
        const auto a = hn::LoadU(d4, rows + k);
        const auto b = hn::LoadU(d4, rows + padded + k);
        const auto c = hn::LoadU(d4, rows + 2 * padded + k);
        const auto d = hn::LoadU(d4, rows + 3 * padded + k);
        const auto abLow = hn::InterleaveLower(d4, a, b);
        const auto cdLow = hn::InterleaveLower(d4, c, d);
        const auto abHigh = hn::InterleaveUpper(d4, a, b);
        const auto cdHigh = hn::InterleaveUpper(d4, c, d);
        hn::StoreU(hn::ConcatLowerLower(d4, cdLow, abLow), d4, to + k * width);
        hn::StoreU(hn::ConcatUpperUpper(d4, cdLow, abLow), d4, to + (k + 1) * width);
        hn::StoreU(hn::ConcatLowerLower(d4, cdHigh, abHigh), d4, to + (k + 2) * width);
        hn::StoreU(hn::ConcatUpperUpper(d4, cdHigh, abHigh), d4, to + (k + 3) * width);
    }
#endif
}

HWY_INLINE void PackKeys(const WindowTile& tile) {
    const auto padded = static_cast<size_t>(paddedDim(tile.keys.dim));
    for (int64_t token = 0; token < kTileTokens; token += 4) {
        for (int64_t r = 0; r < 4; ++r) {
            float* row = tile.keyRows + static_cast<size_t>(r) * padded;
            if (tile.begin + token + r < tile.end) {
                LoadRow(tile.keys, tile.begin + token + r, row);
            } else {
                memset(row, 0, padded * sizeof(float));
            }
        }
        TransposeFour(tile.keyRows, padded, static_cast<size_t>(token), tile.packed);
    }
}

/// Raw logits of kRows query rows against one packed column.
template <size_t kRows>
HWY_INLINE void Multiply(const float* HWY_RESTRICT column, const float* HWY_RESTRICT queries,
                         size_t dim, float* HWY_RESTRICT out) {
    const Float df;
    const size_t lanes = hn::Lanes(df);
    hn::Vec<Float> left[kRows];
    hn::Vec<Float> right[kRows];
    HWY_UNROLL(8)
    for (size_t r = 0; r < kRows; ++r) {
        left[r] = hn::Zero(df);
        right[r] = hn::Zero(df);
    }
    for (size_t k = 0; k < dim; ++k) {
        const auto first = hn::Load(df, column);
        const auto second = hn::Load(df, column + lanes);
        HWY_UNROLL(8)
        for (size_t r = 0; r < kRows; ++r) {
            const auto query = hn::Set(df, queries[r]);
            left[r] = hn::MulAdd(first, query, left[r]);
            right[r] = hn::MulAdd(second, query, right[r]);
        }
        column += 2 * lanes;
        queries += kPanelRows;
    }
    HWY_UNROLL(8)
    for (size_t r = 0; r < kRows; ++r) {
        hn::Store(left[r], df, out + r * kTileTokens);
        hn::Store(right[r], df, out + r * kTileTokens + lanes);
    }
}

HWY_INLINE void MultiplyTile(const WindowTile& tile, float* HWY_RESTRICT out) {
    const auto dim = static_cast<size_t>(tile.keys.dim);
    const auto padded = static_cast<size_t>(paddedDim(tile.keys.dim));
    const size_t width = ColumnTokens();
    const auto panels = static_cast<size_t>(paddedRows(tile.rows) / kPanelRows);
    for (size_t token = 0; token < static_cast<size_t>(kTileTokens); token += width) {
        const float* column = tile.packed + token * padded;
        for (size_t panel = 0; panel < panels; ++panel) {
            const float* queries = tile.queries + panel * dim * kPanelRows;
            float* to = out + panel * kPanelRows * kTileTokens + token;
            if (hn::Lanes(Float()) >= 16) { // 16 accumulators of 32 registers
                Multiply<8>(column, queries, dim, to);
            } else {
                Multiply<4>(column, queries, dim, to);
                Multiply<4>(column, queries + 4, dim, to + 4 * kTileTokens);
            }
        }
    }
}

/// Writes -inf over the logits of the tokens that row `row` does not see.
HWY_INLINE void HideTokens(const WindowTile& tile, int64_t row, float* HWY_RESTRICT logits) {
    for (int64_t i = 0; i < kTileTokens; ++i) {
        const int64_t token = tile.begin + i;
        if (token >= tile.end || tile.keyPositions[token] > tile.rowPositions[row]) {
            logits[i] = kHidden;
        }
    }
}

/// Scales a row of logits, hides those that are not finite, and turns it into weights.
HWY_INLINE void Exponentiate(float scale, float* HWY_RESTRICT row, float& peak, float& total) {
    const Float df;
    const size_t lanes = hn::Lanes(df);
    const auto hidden = hn::Set(df, kHidden);
    const auto factor = hn::Set(df, scale);
    auto largest = hidden;
    for (size_t i = 0; i < static_cast<size_t>(kTileTokens); i += lanes) {
        const auto scaled = hn::Mul(hn::Load(df, row + i), factor);
        const auto logit = hn::IfThenElse(hn::IsFinite(scaled), scaled, hidden);
        largest = hn::Max(largest, logit);
        hn::Store(logit, df, row + i);
    }
    peak = hn::GetLane(hn::MaxOfLanes(df, largest));
    if (peak == kHidden) {
        memset(row, 0, kTileTokens * sizeof(float));
        total = 0.0F;
        return;
    }
    const auto top = hn::Set(df, peak);
    auto sum = hn::Zero(df);
    for (size_t i = 0; i < static_cast<size_t>(kTileTokens); i += lanes) {
        const auto weight = hn::Exp(df, hn::Sub(hn::Load(df, row + i), top));
        sum = hn::Add(sum, weight);
        hn::Store(weight, df, row + i);
    }
    total = hn::GetLane(hn::SumOfLanes(df, sum));
}

void AttendTile(const WindowTile& tile, const TileWeights& out) {
    if (tile.queryPairs != nullptr) {
        multiplyPairs({tile.keys, tile.begin, tile.end, tile.queryPairs,
                       paddedRows(tile.rows) / kPanelRows,
                       reinterpret_cast<std::uint32_t*>(tile.packed)},
                      out.weights);
    } else {
        PackKeys(tile);
        MultiplyTile(tile, out.weights);
    }
    const bool whole = tile.allVisible && tile.end - tile.begin == kTileTokens;
    for (int64_t row = 0; row < tile.rows; ++row) {
        float* logits = out.weights + row * kTileTokens;
        if (!whole) {
            HideTokens(tile, row, logits);
        }
        Exponentiate(tile.scale, logits, out.peak[row], out.total[row]);
    }
}

void AddTile(const float* HWY_RESTRICT weights, const float* HWY_RESTRICT factor, int64_t rows,
             int64_t tokens, float* HWY_RESTRICT importance) {
    const Float df;
    const size_t lanes = hn::Lanes(df);
    HWY_ALIGN float sums[kTileTokens];
    for (size_t i = 0; i < static_cast<size_t>(kTileTokens); i += 2 * lanes) {
        auto left = hn::Zero(df);
        auto right = hn::Zero(df);
        const float* from = weights + i;
        for (int64_t row = 0; row < rows; ++row, from += kTileTokens) {
            const auto share = hn::Set(df, factor[row]);
            left = hn::MulAdd(hn::Load(df, from), share, left);
            right = hn::MulAdd(hn::Load(df, from + lanes), share, right);
        }
        hn::Store(left, df, sums + i);
        hn::Store(right, df, sums + i + lanes);
    }
    for (int64_t i = 0; i < tokens; ++i) {
        importance[i] += sums[i];
    }
}

} // namespace HWY_NAMESPACE
} // namespace ecokv::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ecokv::kernels::cpu {

HWY_EXPORT(AttendTile);
HWY_EXPORT(AddTile);

void attendTile(const WindowTile& tile, const TileWeights& out) {
    HWY_DYNAMIC_DISPATCH(AttendTile)(tile, out);
}

void addTile(const float* weights, const float* factor, std::int64_t rows, std::int64_t tokens,
             float* importance) {
    HWY_DYNAMIC_DISPATCH(AddTile)(weights, factor, rows, tokens, importance);
}

} // namespace ecokv::kernels::cpu
#endif // HWY_ONCE
