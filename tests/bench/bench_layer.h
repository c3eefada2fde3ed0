#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One decoder layer as the benchmarks see it: bf16 keys, values and window queries in enough copies
// to outgrow the caches, and our CPU kernels on them. One thread drives.

#include "kernels/compact_rows.h"
#include "kernels/composite_score.h"
#include "kernels/key_statistics.h"
#include "kernels/top_k.h"
#include "kernels/window_importance.h"

#include <ATen/ATen.h>

#include <vector>

namespace ecokv::bench {

constexpr std::int64_t kKvHeads = 8;
constexpr std::int64_t kGroup = 4;
constexpr std::int64_t kDim = 128;
constexpr std::int64_t kWindow = 32;
constexpr std::int64_t kBudget = 64;

/// Throws when a launcher refused.
void check(kernels::Status status);
/// [1, a, b, c] bf16 as [a, b, c].
TensorView viewOf(const at::Tensor& tensor);

struct BenchLayer {
    explicit BenchLayer(std::int64_t tokenCount);

    const at::Tensor& key(int round) const {
        return keys[static_cast<std::size_t>(round) % keys.size()];
    }
    const at::Tensor& value(int round) const {
        return values[static_cast<std::size_t>(round) % values.size()];
    }
    std::int64_t keyBytes() const { return kKvHeads * tokens * kDim * 2; }

    /// c, e, |k| of the first `count` tokens.
    void measureKeys(int round, std::int64_t count,
                     kernels::Backend backend = kernels::Backend::Cpu);
    void measureImportance(int round);
    /// MixKV's score, the best tokens, keys and values compacted in place to kBudget rows.
    void compress(int round);

    std::int64_t tokens;
    std::vector<at::Tensor> keys, values; ///< [1, kvHead, token, dim] bf16
    at::Tensor queries;                   ///< [1, head, window, dim] bf16
    /// [kvHead, token]
    std::vector<float> cosine, euclid, norm, valueNorm, unused, attention;
    std::vector<float> importance, byCosine, byEuclid, diversity, score;
    std::vector<kernels::HeadStatistics> heads; ///< [kvHead]
    std::vector<std::int64_t> positions;        ///< [token]

private:
    void scoreCandidates(std::int64_t count);
};

} // namespace ecokv::bench
