// SPDX-License-Identifier: GPL-3.0-or-later
// Highway compiles this file once per instruction set and picks the best one at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/key_blocks.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/key_blocks.h"

#include <cmath>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace ecokv::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/cpu/load_row.inc"

using Float = hn::ScalableTag<float>;

HWY_INLINE float SquaredNorm(const float* HWY_RESTRICT row, size_t padded) {
    const Float df;
    const size_t lanes = hn::Lanes(df);
    auto even = hn::Zero(df);
    auto odd = hn::Zero(df);
    size_t i = 0;
    for (; i + 2 * lanes <= padded; i += 2 * lanes) {
        const auto first = hn::Load(df, row + i);
        const auto second = hn::Load(df, row + i + lanes);
        even = hn::MulAdd(first, first, even);
        odd = hn::MulAdd(second, second, odd);
    }
    for (; i < padded; i += lanes) {
        const auto rest = hn::Load(df, row + i);
        even = hn::MulAdd(rest, rest, even);
    }
    return hn::GetLane(hn::SumOfLanes(df, hn::Add(even, odd)));
}

/// Adds a vector of fp32 sums to fp64 ones.
HWY_INLINE void AddWide(hn::Vec<Float> values, double* HWY_RESTRICT to) {
    const Float df;
    const hn::ScalableTag<double> dd;
    const hn::Rebind<float, decltype(dd)> dhalf;
    HWY_ALIGN float narrow[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(values, df, narrow);
    for (size_t j = 0; j < hn::Lanes(df); j += hn::Lanes(dd)) {
        const auto wide = hn::PromoteTo(dd, hn::Load(dhalf, narrow + j));
        hn::StoreU(hn::Add(hn::LoadU(dd, to + j), wide), dd, to + j);
    }
}

/// AddRows for kVectors vectors from component `i` on, so that their sums run side by side.
template <size_t kVectors>
HWY_INLINE void AddColumns(const float* HWY_RESTRICT rows, const float* HWY_RESTRICT inverse,
                           int64_t count, size_t padded, double* HWY_RESTRICT sum,
                           double* HWY_RESTRICT unit) {
    const Float df;
    const size_t lanes = hn::Lanes(df);
    hn::Vec<Float> rowSums[kVectors];
    hn::Vec<Float> unitSums[kVectors];
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v) {
        rowSums[v] = hn::Zero(df);
        unitSums[v] = hn::Zero(df);
    }
    for (int64_t r = 0; r < count; ++r, rows += padded) {
        const auto factor = hn::Set(df, inverse[r]);
        HWY_UNROLL(4)
        for (size_t v = 0; v < kVectors; ++v) {
            const auto x = hn::Load(df, rows + v * lanes);
            rowSums[v] = hn::Add(rowSums[v], x);
            unitSums[v] = hn::MulAdd(x, factor, unitSums[v]);
        }
    }
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v) {
        AddWide(rowSums[v], sum + v * lanes);
        AddWide(unitSums[v], unit + v * lanes);
    }
}

/// sum += sum of `count` rows and unit += sum of the rows times `inverse`.
HWY_INLINE void AddRows(const float* HWY_RESTRICT rows, const float* HWY_RESTRICT inverse,
                        int64_t count, size_t padded, double* HWY_RESTRICT sum,
                        double* HWY_RESTRICT unit) {
    const size_t lanes = hn::Lanes(Float());
    size_t i = 0;
    for (; i + 4 * lanes <= padded; i += 4 * lanes) {
        AddColumns<4>(rows + i, inverse, count, padded, sum + i, unit + i);
    }
    for (; i < padded; i += lanes) {
        AddColumns<1>(rows + i, inverse, count, padded, sum + i, unit + i);
    }
}

/// Rotates a row backwards in place by the table row of its token.
HWY_INLINE void Unrotate(const KeyBlock& block, int64_t token, float* HWY_RESTRICT row) {
    const auto pairs = static_cast<size_t>(block.pairs);
    const float* cosines = block.cosines + static_cast<size_t>(token) * pairs;
    const float* sines = block.sines + static_cast<size_t>(token) * pairs;
    const bool half = block.style == RopeStyle::Half;
    const size_t step = half ? 1 : 2;
    const size_t apart = half ? pairs : 1;
    for (size_t i = 0; i < pairs; ++i) {
        const float first = row[step * i];
        const float second = row[step * i + apart];
        row[step * i] = first * cosines[i] + second * sines[i];
        row[step * i + apart] = second * cosines[i] - first * sines[i];
    }
}

/// 1 / |row| of an un-rotated row, 0 of a zero one.
HWY_INLINE float OwnInverse(const float* HWY_RESTRICT row, size_t padded, BlockSums& sums) {
    const float square = SquaredNorm(row, padded);
    const float norm = sqrtf(square);
    sums.turnedNorms += static_cast<double>(norm);
    sums.turnedSquares += static_cast<double>(square);
    return square > 0.0F ? 1.0F / norm : 0.0F;
}

void AccumulateBlock(const KeyBlock& block, BlockSums& sums) {
    const auto padded = static_cast<size_t>(paddedDim(block.rows.dim));
    for (int64_t begin = block.begin; begin < block.end; begin += kRowsAtOnce) {
        const int64_t count = HWY_MIN(kRowsAtOnce, block.end - begin);
        float inverse[kRowsAtOnce];
        for (int64_t r = 0; r < count; ++r) {
            float* row = block.scratch + static_cast<size_t>(r) * padded;
            LoadRow(block.rows, begin + r, row);
            const float square = SquaredNorm(row, padded);
            if (square >= kSmallestSquare && square <= kLargestSquare) {
                const float norm = sqrtf(square);
                block.norm[begin + r] = norm;
                inverse[r] = 1.0F / norm;
                sums.norms += static_cast<double>(norm);
                sums.squares += static_cast<double>(square);
                ++sums.nonZero;
            } else {
                accumulateUnusualRow(block, begin + r, sums);
                inverse[r] = 0.0F;
                memset(row, 0, padded * sizeof(float));
            }
        }
        AddRows(block.scratch, inverse, count, padded, sums.key, sums.unit);
        if (block.cosines != nullptr) {
            for (int64_t r = 0; r < count; ++r) {
                float* row = block.scratch + static_cast<size_t>(r) * padded;
                Unrotate(block, begin + r, row);
                inverse[r] = block.ownLengths ? OwnInverse(row, padded, sums)
                                              : inverse[r] * block.scaling; // shorter by that
            }
            AddRows(block.scratch, inverse, count, padded, sums.turnedKey, sums.turnedUnit);
        }
    }
}

/// x . direction and |x - centroid|^2 of two rows, which share the loads of the centre.
HWY_INLINE void MeasureTwo(const float* HWY_RESTRICT rows, const HeadCentre& centre, size_t padded,
                           float* HWY_RESTRICT dots, float* HWY_RESTRICT squares) {
    const Float df;
    auto dotA = hn::Zero(df);
    auto dotB = hn::Zero(df);
    auto squareA = hn::Zero(df);
    auto squareB = hn::Zero(df);
    for (size_t i = 0; i < padded; i += hn::Lanes(df)) {
        const auto direction = hn::Load(df, centre.direction + i);
        const auto centroid = hn::Load(df, centre.centroid + i);
        const auto a = hn::Load(df, rows + i);
        const auto b = hn::Load(df, rows + padded + i);
        dotA = hn::MulAdd(a, direction, dotA);
        dotB = hn::MulAdd(b, direction, dotB);
        const auto offsetA = hn::Sub(a, centroid);
        const auto offsetB = hn::Sub(b, centroid);
        squareA = hn::MulAdd(offsetA, offsetA, squareA);
        squareB = hn::MulAdd(offsetB, offsetB, squareB);
    }
    dots[0] = hn::GetLane(hn::SumOfLanes(df, dotA));
    dots[1] = hn::GetLane(hn::SumOfLanes(df, dotB));
    squares[0] = hn::GetLane(hn::SumOfLanes(df, squareA));
    squares[1] = hn::GetLane(hn::SumOfLanes(df, squareB));
}

void MeasureBlock(const KeyBlock& block, const HeadCentre& centre, float* cosine, float* euclid) {
    const auto padded = static_cast<size_t>(paddedDim(block.rows.dim));
    const float smallest = sqrtf(kSmallestSquare);
    const float largest = sqrtf(kLargestSquare);
    for (int64_t begin = block.begin; begin < block.end; begin += 2) {
        const int64_t count = HWY_MIN(int64_t{2}, block.end - begin);
        for (int64_t r = 0; r < count; ++r) {
            float* row = block.scratch + static_cast<size_t>(r) * padded;
            LoadRow(block.rows, begin + r, row);
            if (block.cosines != nullptr) {
                Unrotate(block, begin + r, row);
            }
        }
        float dots[2];
        float squares[2];
        MeasureTwo(block.scratch, centre, padded, dots, squares);
        for (int64_t r = 0; r < count; ++r) {
            const int64_t token = begin + r;
            const float norm = block.norm[token];
            if (norm > smallest && norm < largest && squares[r] <= kLargestSquare) {
                const float* row = block.scratch + static_cast<size_t>(r) * padded;
                cosine[token] = block.ownLengths ? dots[r] / sqrtf(SquaredNorm(row, padded))
                                                 : dots[r] * block.scaling / norm;
                euclid[token] = sqrtf(squares[r]);
            } else {
                measureUnusualRow(block, token, centre, cosine + token, euclid + token);
            }
        }
    }
}

} // namespace HWY_NAMESPACE
} // namespace ecokv::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ecokv::kernels::cpu {

HWY_EXPORT(AccumulateBlock);
HWY_EXPORT(MeasureBlock);

void accumulateBlock(const KeyBlock& block, BlockSums& sums) {
    HWY_DYNAMIC_DISPATCH(AccumulateBlock)(block, sums);
}

void measureBlock(const KeyBlock& block, const HeadCentre& centre, float* cosine, float* euclid) {
    HWY_DYNAMIC_DISPATCH(MeasureBlock)(block, centre, cosine, euclid);
}

} // namespace ecokv::kernels::cpu
#endif // HWY_ONCE
