#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The ECOKV score: pooled importance mixed with the composite diversity, weighted by the head's own
// redundancy (definition ecokv-1, "Score and selection"). Thread-safe.

#include "kernels/kernel_types.h"

namespace ecokv::kernels {

enum class PoolMode : std::uint8_t {
    Average,       ///< divides by the positions really covered
    AveragePadded, ///< divides by the kernel size (SnapKV, MixKV, kvpress)
    Max,
};

struct CompositeScoreParams {
    float alpha = 0.5F; ///< share of the cosine in the diversity
    int poolKernel = 5; ///< odd, 1 = no pooling
    PoolMode poolMode = PoolMode::Average;
    bool addValueNorm = false; ///< imp = A + N, the intrinsic term
};

/// Shapes over the candidates, one row per KV head; f32 on the backend's device.
struct CompositeScoreInput {
    std::int64_t kvHeads = 0;
    std::int64_t tokens = 0;
    std::int64_t rowStride = 0;              ///< elements between heads of `attention`
    const float* attention = nullptr;        ///< [kvHead, token] A, not pooled
    const float* cosine = nullptr;           ///< [kvHead, token] c
    const float* euclid = nullptr;           ///< [kvHead, token] e
    const float* valueNorm = nullptr;        ///< [kvHead, token] |v|, only with addValueNorm
    const double* redundancy = nullptr;      ///< [kvHead] r in 0..1, host
    const double* meanSquaredNorm = nullptr; ///< [kvHead] m2, host (decides "constant" for e)
};

struct CompositeScoreOutput {
    float* importance = nullptr;      ///< [kvHead, token] pooled A, + N if asked
    float* diversityCosine = nullptr; ///< [kvHead, token] minmax(-c)
    float* diversityEuclid = nullptr; ///< [kvHead, token] minmax(e)
    float* diversity = nullptr;       ///< [kvHead, token] alpha d_cos + (1 - alpha) d_euc
    float* score = nullptr;           ///< [kvHead, token]
    std::uint8_t* constant = nullptr; ///< [kvHead, 3] host: 1 where c, e, |v| counted as constant
};

/// An even kernel is BadShape (field case F029). Inputs that are not finite count as no attention,
/// no diversity, no value norm, no redundancy. N is rescaled to the mean of the pooled attention.
/// All arrays but `attention` are packed, `tokens` apart.
Status compositeScore(const CompositeScoreInput& input, const CompositeScoreParams& params,
                      const CompositeScoreOutput& output, Backend backend, Stream stream = nullptr);

} // namespace ecokv::kernels
