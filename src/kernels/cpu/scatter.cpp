// SPDX-License-Identifier: GPL-3.0-or-later
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/scatter.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/scatter.h"

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace ecokv::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/cpu/load_row.inc"

using Float = hn::ScalableTag<float>;

/// Loads a row; a row that is not finite becomes zero.
HWY_INLINE void LoadFiniteRow(const RowSource& rows, int64_t index, size_t padded,
                              float* HWY_RESTRICT out) {
    const Float df;
    LoadRow(rows, index, out);
    bool finite = true;
    for (size_t i = 0; i < padded; i += hn::Lanes(df)) {
        finite = finite && hn::AllTrue(df, hn::IsFinite(hn::Load(df, out + i)));
    }
    if (!finite) {
        memset(out, 0, padded * sizeof(float));
    }
}

/// product[i .. i + 3][j .. j + 2 vectors] = sum over rows.
template <size_t kVectors>
HWY_INLINE void Outer(const float* HWY_RESTRICT rows, size_t count, size_t padded, size_t i,
                      size_t j, float* HWY_RESTRICT product) {
    const Float df;
    const size_t lanes = hn::Lanes(df);
    hn::Vec<Float> sums[4][kVectors];
    for (auto& row : sums) {
        for (auto& sum : row) {
            sum = hn::Zero(df);
        }
    }
    for (size_t r = 0; r < count; ++r) {
        const float* row = rows + r * padded;
        HWY_UNROLL(4)
        for (size_t v = 0; v < kVectors; ++v) {
            const auto right = hn::Load(df, row + j + v * lanes);
            HWY_UNROLL(4)
            for (size_t m = 0; m < 4; ++m) {
                sums[m][v] = hn::MulAdd(hn::Set(df, row[i + m]), right, sums[m][v]);
            }
        }
    }
    for (size_t m = 0; m < 4; ++m) {
        for (size_t v = 0; v < kVectors; ++v) {
            hn::Store(sums[m][v], df, product + (i + m) * padded + j + v * lanes);
        }
    }
}

/// Columns from the diagonal on, for four rows of the product.
HWY_INLINE void OuterRows(const ScatterBlock& block, size_t count, size_t padded, size_t i,
                          double* HWY_RESTRICT scatter) {
    const size_t lanes = hn::Lanes(Float());
    const size_t first = i / lanes * lanes;
    size_t j = first;
    for (; j + 2 * lanes <= padded; j += 2 * lanes) {
        Outer<2>(block.centred, count, padded, i, j, block.product);
    }
    if (j < padded) {
        Outer<1>(block.centred, count, padded, i, j, block.product);
    }
    for (size_t m = i; m < i + 4; ++m) {
        for (size_t column = first; column < padded; ++column) {
            scatter[m * padded + column] += static_cast<double>(block.product[m * padded + column]);
        }
    }
}

void AddScatter(const ScatterBlock& block, const float* HWY_RESTRICT mean,
                double* HWY_RESTRICT scatter) {
    const auto padded = static_cast<size_t>(paddedDim(block.rows.dim));
    for (int64_t begin = block.begin; begin < block.end; begin += kScatterRows) {
        const auto count = static_cast<size_t>(HWY_MIN(kScatterRows, block.end - begin));
        for (size_t r = 0; r < count; ++r) {
            float* row = block.centred + r * padded;
            LoadFiniteRow(block.rows, begin + static_cast<int64_t>(r), padded, row);
            for (size_t i = 0; i < padded; ++i) {
                row[i] -= mean[i];
            }
        }
        for (size_t i = 0; i < padded; i += 4) {
            OuterRows(block, count, padded, i, scatter);
        }
    }
}

} // namespace HWY_NAMESPACE
} // namespace ecokv::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ecokv::kernels::cpu {

HWY_EXPORT(AddScatter);

void addScatter(const ScatterBlock& block, const float* mean, double* scatter) {
    HWY_DYNAMIC_DISPATCH(AddScatter)(block, mean, scatter);
}

} // namespace ecokv::kernels::cpu
#endif // HWY_ONCE
