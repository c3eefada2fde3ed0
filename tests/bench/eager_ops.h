#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// "Eager": the operation sequences of the public SnapKV and MixKV code rebuilt with at:: calls, in
// the dtype they run in (bf16 with an fp32 softmax). The comparison side of bench_kernels.

#include <ATen/ATen.h>

#include <utility>

namespace ecokv::bench {

struct EagerStatistics {
    at::Tensor cosine, euclid, norm; ///< [1, kvHead, token]
    at::Tensor redundancy;           ///< [1, kvHead, 2]
};

/// keys [1, kvHead, token, dim].
EagerStatistics eagerStatistics(const at::Tensor& keys);
/// queries [1, head, window, dim]; mean over rows and grouped heads, [1, kvHead, token] bf16.
at::Tensor eagerImportance(const at::Tensor& queries, const at::Tensor& keys);
/// Rows `kept` [1, kvHead, k] of keys or values.
at::Tensor eagerGather(const at::Tensor& rows, const at::Tensor& kept);
/// MixKV's score of the tokens before the window, [1, kvHead, token].
at::Tensor eagerScore(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values);
/// A MixKV-style layer: scores, top-k, compaction of keys and values to `budget` tokens.
std::pair<at::Tensor, at::Tensor> eagerLayer(const at::Tensor& queries, const at::Tensor& keys,
                                             const at::Tensor& values, std::int64_t budget);

} // namespace ecokv::bench
