#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Rows whose numbers say where they came from, so that a test can tell which token a row of a cache
// holds: keys are 1000 layer + 100 head + position, values the negative of it.

#include "base/float_convert.h"
#include "cache/kv_cache.h"

#include <cstdint>
#include <numeric>
#include <vector>

namespace ecokv::cache::test {

inline float keyOf(int layer, int head, std::int64_t position) {
    return static_cast<float>(1000 * layer + 100 * head) + static_cast<float>(position);
}

/// Keys or values [kvHead, n, dim] f32 of positions first .. first + n - 1.
inline std::vector<float> rows(const CacheShape& shape, int layer, std::int64_t first,
                               std::int64_t n, float sign) {
    std::vector<float> data;
    for (int head = 0; head < shape.kvHeads; ++head) {
        for (std::int64_t token = first; token < first + n; ++token) {
            data.insert(data.end(), static_cast<std::size_t>(shape.headDim),
                        sign * keyOf(layer, head, token));
        }
    }
    return data;
}

/// Appends positions first .. first + n - 1 to one layer of an f32 cache.
inline void appendRange(KvCache& cache, int layer, std::int64_t first, std::int64_t n) {
    const CacheShape& shape = cache.shape();
    std::vector<float> keys = rows(shape, layer, first, n, 1.0F);
    std::vector<float> values = rows(shape, layer, first, n, -1.0F);
    std::vector<std::int64_t> positions(static_cast<std::size_t>(n));
    std::iota(positions.begin(), positions.end(), first);
    cache.append(
        LayerId{layer},
        TensorView::contiguous(keys.data(), DType::F32, {shape.kvHeads, n, shape.headDim}),
        TensorView::contiguous(values.data(), DType::F32, {shape.kvHeads, n, shape.headDim}),
        positions);
}

/// What the first number of every row of a head says, read back through the views.
inline std::vector<float> firstNumbers(const TensorView& rows) {
    std::vector<float> numbers;
    for (std::int64_t row = 0; row < rows.shape[0]; ++row) {
        numbers.push_back(rows[row].as<float>()[0]);
    }
    return numbers;
}

} // namespace ecokv::cache::test
