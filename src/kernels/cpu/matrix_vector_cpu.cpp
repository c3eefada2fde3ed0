// SPDX-License-Identifier: GPL-3.0-or-later
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/matrix_vector_cpu.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "base/float_convert.h"
#include "kernels/cpu/matrix_vector_cpu.h"
#include "kernels/cpu/pair_product.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_source.h"

#include <hwy/cache_control.h>

#include <array>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace ecokv::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/cpu/load_row.inc"

using Float = hn::ScalableTag<float>;

/// Rows of the matrix that share one pass over the vector; two sums each hide the latency of
/// adding.
constexpr size_t kRowsTogether = 4;
constexpr size_t kSums = 2;
/// Bytes ahead that are fetched: at the end of a page the processor does not look ahead itself.
constexpr size_t kAhead = 1024;

template <class T> HWY_INLINE hn::Vec<Float> Widen(const T* from) {
    const Float df;
    if constexpr (sizeof(T) == sizeof(float)) {
        return hn::LoadU(df, from);
    } else {
        const hn::Rebind<T, Float> dn;
        return hn::PromoteTo(df, hn::LoadU(dn, from));
    }
}

/// out [kRows] = rows [kRows, dim] vector. `vector` f32, padded with zeros to whole vectors.
template <size_t kRows, class T>
HWY_INLINE void MultiplyRows(const T* rows, int64_t stride, const float* HWY_RESTRICT vector,
                             size_t dim, float* HWY_RESTRICT out) {
    const Float df;
    const size_t lanes = hn::Lanes(df);
    hn::Vec<Float> sums[kRows][kSums];
    HWY_UNROLL(4)
    for (size_t r = 0; r < kRows; ++r) {
        sums[r][0] = hn::Zero(df);
        sums[r][1] = hn::Zero(df);
    }
    const T* from[kRows];
    HWY_UNROLL(4)
    for (size_t r = 0; r < kRows; ++r) {
        from[r] = rows + static_cast<int64_t>(r) * stride;
    }
    size_t k = 0;
    for (; k + kSums * lanes <= dim; k += kSums * lanes) {
        const auto first = hn::Load(df, vector + k);
        const auto second = hn::Load(df, vector + k + lanes);
        HWY_UNROLL(4)
        for (size_t r = 0; r < kRows; ++r) {
            hwy::Prefetch(from[r] + k + kAhead / sizeof(T));
            sums[r][0] = hn::MulAdd(Widen(from[r] + k), first, sums[r][0]);
            sums[r][1] = hn::MulAdd(Widen(from[r] + k + lanes), second, sums[r][1]);
        }
    }
    for (; k < dim; k += lanes) {
        HWY_ALIGN T tail[HWY_MAX_BYTES / sizeof(float)] = {};
        for (size_t r = 0; r < kRows; ++r) {
            memcpy(tail, from[r] + k, HWY_MIN(lanes, dim - k) * sizeof(T));
            sums[r][0] = hn::MulAdd(Widen(tail), hn::Load(df, vector + k), sums[r][0]);
        }
    }
    for (size_t r = 0; r < kRows; ++r) {
        out[r] = hn::GetLane(hn::SumOfLanes(df, hn::Add(sums[r][0], sums[r][1])));
    }
}

template <class T>
HWY_INLINE void MultiplyTypedBlock(const RowSource& matrix, int64_t begin, int64_t end,
                                   const float* HWY_RESTRICT vector, float* HWY_RESTRICT out) {
    const auto dim = static_cast<size_t>(matrix.dim);
    const auto* rows = static_cast<const T*>(matrix.data);
    int64_t row = begin;
    for (; row + static_cast<int64_t>(kRowsTogether) <= end; row += kRowsTogether) {
        MultiplyRows<kRowsTogether>(rows + row * matrix.rowStride, matrix.rowStride, vector, dim,
                                    out + (row - begin));
    }
    for (; row < end; ++row) {
        MultiplyRows<1>(rows + row * matrix.rowStride, matrix.rowStride, vector, dim,
                        out + (row - begin));
    }
}

/// out [end - begin] = rows [begin, end) of the matrix times the vector.
void MultiplyBlock(const RowSource& matrix, int64_t begin, int64_t end, const float* vector,
                   float* out) {
    if (matrix.dtype == DType::BF16) {
        MultiplyTypedBlock<hwy::bfloat16_t>(matrix, begin, end, vector, out);
    } else {
        MultiplyTypedBlock<float>(matrix, begin, end, vector, out);
    }
}

void WidenRow(const RowSource& rows, int64_t row, float* to) {
    LoadRow(rows, row, to);
}

} // namespace HWY_NAMESPACE
} // namespace ecokv::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ecokv::kernels::cpu {

HWY_EXPORT(MultiplyBlock);
HWY_EXPORT(WidenRow);

namespace {

/// Rows of the matrix that a thread takes at once.
constexpr std::int64_t kBlockRows = 32;

RowSource vectorSource(const TensorView& vector) {
    return {vector.data, vector.dtype, vector.shape[0], vector.shape[0]};
}

float valueAt(const TensorView& vector, std::int64_t index) {
    return vector.dtype == DType::F32 ? vector.as<float>()[index]
                                      : bf16ToFloat(vector.as<std::uint16_t>()[index]);
}

void setValue(const TensorView& vector, std::int64_t index, float value) {
    if (vector.dtype == DType::F32) {
        vector.as<float>()[index] = value;
    } else {
        vector.as<std::uint16_t>()[index] = floatToBf16(value);
    }
}

} // namespace

void matrixVector(const MatrixVectorInput& input, const TensorView& output) {
    const std::int64_t rows = input.weight.shape[0];
    const std::int64_t dim = input.weight.shape[1];
    const RowSource matrix{input.weight.data, input.weight.dtype, input.weight.strides[0], dim};
    const bool pairs = matrix.dtype == DType::BF16 && hasPairProducts();
    const Scratch<float> vector(pairs ? 0 : paddedDim(dim));
    if (!pairs) {
        HWY_DYNAMIC_DISPATCH(WidenRow)(vectorSource(input.row), 0, vector.data());
    }
    parallelFor((rows + kBlockRows - 1) / kBlockRows, rows * dim, [&](std::int64_t block, int) {
        const std::int64_t begin = block * kBlockRows;
        const std::int64_t end = std::min(begin + kBlockRows, rows);
        std::array<float, kBlockRows> sums{};
        if (pairs) {
            multiplyVectorPairs(matrix, begin, end, input.row.data, sums.data());
        } else {
            HWY_DYNAMIC_DISPATCH(MultiplyBlock)(matrix, begin, end, vector.data(), sums.data());
        }
        for (std::int64_t row = begin; row < end; ++row) {
            const float sum = sums[static_cast<std::size_t>(row - begin)];
            setValue(output, row,
                     input.bias.data != nullptr ? sum + valueAt(input.bias, row) : sum);
        }
    });
}

} // namespace ecokv::kernels::cpu
#endif // HWY_ONCE
