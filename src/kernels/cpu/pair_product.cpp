// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/pair_product.h"

#include "kernels/cpu/window_tiles.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <hwy/targets.h>

#include <immintrin.h>

#include <algorithm>
#include <iterator>
#include <numeric>

// Everything below runs only where hasPairProducts().
#define ECOKV_PAIRS __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

namespace ecokv::kernels::cpu {

namespace {

constexpr std::int64_t kColumn = 32; ///< tokens of one column: two vectors

/// Four rows of pairs become columns `token` .. `token + 3` of the packed tile
/// [column, dim / 2, kColumn].
ECOKV_PAIRS void transposeFour(const std::uint32_t* const* rows, std::int64_t pairs,
                               std::int64_t token, std::uint32_t* packed) {
    std::uint32_t* to = packed + token / kColumn * kColumn * pairs + token % kColumn;
    for (std::int64_t k = 0; k < pairs; k += 4) {
        const auto load = [&](int row) ECOKV_PAIRS {
            return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[row] + k));
        };
        const __m128i a = load(0);
        const __m128i b = load(1);
        const __m128i c = load(2);
        const __m128i d = load(3);
        const __m128i abLow = _mm_unpacklo_epi32(a, b);
        const __m128i cdLow = _mm_unpacklo_epi32(c, d);
        const __m128i abHigh = _mm_unpackhi_epi32(a, b);
        const __m128i cdHigh = _mm_unpackhi_epi32(c, d);
        const auto store = [&](std::int64_t row, __m128i four) ECOKV_PAIRS {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to + (k + row) * kColumn), four);
        };
        store(0, _mm_unpacklo_epi64(abLow, cdLow));
        store(1, _mm_unpackhi_epi64(abLow, cdLow));
        store(2, _mm_unpacklo_epi64(abHigh, cdHigh));
        store(3, _mm_unpackhi_epi64(abHigh, cdHigh));
    }
}

ECOKV_PAIRS void packKeys(const PairTile& tile, const std::uint32_t* zeros) {
    const std::int64_t pairs = tile.keys.dim / 2;
    const auto* first = static_cast<const std::uint16_t*>(tile.keys.data);
    for (std::int64_t token = 0; token < kTileTokens; token += 4) {
        const std::uint32_t* rows[4];
        for (std::int64_t r = 0; r < 4; ++r) {
            const std::int64_t row = tile.begin + token + r;
            rows[r] =
                row < tile.end
                    ? reinterpret_cast<const std::uint32_t*>(first + row * tile.keys.rowStride)
                    : zeros;
        }
        transposeFour(rows, pairs, token, tile.packed);
    }
}

/// Eight query rows against one packed column.
ECOKV_PAIRS void multiplyColumn(const std::uint32_t* column, const std::uint32_t* queries,
                                std::int64_t pairs, float* out) {
    __m512 left[kPanelRows];
    __m512 right[kPanelRows];
#pragma GCC unroll 8
    for (std::int64_t r = 0; r < kPanelRows; ++r) {
        left[r] = _mm512_setzero_ps();
        right[r] = _mm512_setzero_ps();
    }
    for (std::int64_t k = 0; k < pairs; ++k) {
        const auto first = reinterpret_cast<__m512bh>(_mm512_loadu_si512(column));
        const auto second = reinterpret_cast<__m512bh>(_mm512_loadu_si512(column + 16));
#pragma GCC unroll 8
        for (std::int64_t r = 0; r < kPanelRows; ++r) {
            const auto query =
                reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(queries[r])));
            left[r] = _mm512_dpbf16_ps(left[r], first, query);
            right[r] = _mm512_dpbf16_ps(right[r], second, query);
        }
        column += kColumn;
        queries += kPanelRows;
    }
#pragma GCC unroll 8
    for (std::int64_t r = 0; r < kPanelRows; ++r) {
        _mm512_storeu_ps(out + r * kTileTokens, left[r]);
        _mm512_storeu_ps(out + r * kTileTokens + 16, right[r]);
    }
}

ECOKV_PAIRS __m512bh loadNumbers(const std::uint16_t* first) {
    return reinterpret_cast<__m512bh>(_mm512_loadu_si512(first));
}

/// The 32 numbers from `first` on, zeros past the end.
ECOKV_PAIRS __m512bh loadTail(const std::uint16_t* first, std::int64_t left) {
    const auto mask = static_cast<__mmask32>((std::uint64_t{1} << left) - 1);
    return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(mask, first));
}

/// out [kRows] = rows times the vector; two sums a row hide the latency of adding.
template <std::int64_t kRows>
ECOKV_PAIRS void multiplyRows(const std::uint16_t* const* rows, const std::uint16_t* vector,
                              std::int64_t dim, float* out) {
    __m512 even[kRows];
    __m512 odd[kRows];
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < kRows; ++r) {
        even[r] = _mm512_setzero_ps();
        odd[r] = _mm512_setzero_ps();
    }
    std::int64_t k = 0;
    for (; k + 64 <= dim; k += 64) {
        const __m512bh first = loadNumbers(vector + k);
        const __m512bh second = loadNumbers(vector + k + 32);
#pragma GCC unroll 4
        for (std::int64_t r = 0; r < kRows; ++r) {
            even[r] = _mm512_dpbf16_ps(even[r], loadNumbers(rows[r] + k), first);
            odd[r] = _mm512_dpbf16_ps(odd[r], loadNumbers(rows[r] + k + 32), second);
        }
    }
    for (; k < dim; k += 32) {
        const std::int64_t left = std::min<std::int64_t>(32, dim - k);
        const __m512bh last = loadTail(vector + k, left);
#pragma GCC unroll 4
        for (std::int64_t r = 0; r < kRows; ++r) {
            even[r] = _mm512_dpbf16_ps(even[r], loadTail(rows[r] + k, left), last);
        }
    }
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < kRows; ++r) {
        float lanes[16];
        _mm512_storeu_ps(lanes, _mm512_add_ps(even[r], odd[r]));
        out[r] = std::accumulate(std::begin(lanes), std::end(lanes), 0.0F);
    }
}

} // namespace

bool hasPairProducts() {
    static const bool present = __builtin_cpu_supports("avx512bf16") != 0;
    return present && (hwy::SupportedTargets() & HWY_AVX3) != 0;
}

void multiplyPairs(const PairTile& tile, float* logits) {
    static constexpr std::uint32_t kZeros[kLongestPairRow] = {};
    packKeys(tile, kZeros);
    const std::int64_t pairs = tile.keys.dim / 2;
    for (std::int64_t token = 0; token < kTileTokens; token += kColumn) {
        for (std::int64_t panel = 0; panel < tile.panels; ++panel) {
            multiplyColumn(tile.packed + token * pairs, tile.queries + panel * pairs * kPanelRows,
                           pairs, logits + panel * kPanelRows * kTileTokens + token);
        }
    }
}

void multiplyVectorPairs(const RowSource& matrix, std::int64_t begin, std::int64_t end,
                         const void* vector, float* out) {
    constexpr std::int64_t kTogether = 4;
    const auto* first = static_cast<const std::uint16_t*>(matrix.data);
    const auto* numbers = static_cast<const std::uint16_t*>(vector);
    std::int64_t row = begin;
    for (; row + kTogether <= end; row += kTogether) {
        const std::uint16_t* rows[kTogether];
        for (std::int64_t r = 0; r < kTogether; ++r) {
            rows[r] = first + (row + r) * matrix.rowStride;
        }
        multiplyRows<kTogether>(rows, numbers, matrix.dim, out + (row - begin));
    }
    for (; row < end; ++row) {
        const std::uint16_t* one = first + row * matrix.rowStride;
        multiplyRows<1>(&one, numbers, matrix.dim, out + (row - begin));
    }
}

} // namespace ecokv::kernels::cpu

#else

namespace ecokv::kernels::cpu {

bool hasPairProducts() {
    return false;
}

void multiplyPairs(const PairTile&, float*) {}

void multiplyVectorPairs(const RowSource&, std::int64_t, std::int64_t, const void*, float*) {}

} // namespace ecokv::kernels::cpu

#endif
