#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry of the keys of one layer: per token the cosine to the mean direction and the distance to
// the centroid, per head the redundancies and the anisotropy (definition ecokv-1). Thread-safe.

#include "kernels/kernel_types.h"

namespace ecokv::kernels {

/// One KV head over its candidates. Accumulated in fp64.
struct HeadStatistics {
    double redundancyCosine = 0; ///< r_cos: mean off-diagonal cosine similarity
    double redundancyEuclid = 0; ///< r_euc: 1 - E|k_i - k_j|^2 / (2 m2)
    double anisotropy = 0;       ///< |mu|, mean of the unit keys
    double meanKeyNorm = 0;      ///< mean |k|
    double meanSquaredNorm = 0;  ///< m2 = mean |k|^2
    double zeroFreeShare = 1;    ///< z: share of keys whose norm is not zero
};

struct KeyStatisticsInput {
    TensorView keys;                    ///< [kvHead, token, dim] f32/bf16/f16, candidates only
    const Rotation* rotation = nullptr; ///< set: cosine and euclid on un-rotated keys
};

/// Host or device memory according to the backend; `heads` is always host memory.
struct KeyStatisticsOutput {
    float* cosine = nullptr;         ///< [kvHead, token] f32: c_i = u_i . mu
    float* euclid = nullptr;         ///< [kvHead, token] f32: e_i = |k_i - kbar|
    float* norm = nullptr;           ///< [kvHead, token] f32: |k_i|
    HeadStatistics* heads = nullptr; ///< [kvHead]
};

/// Redundancies, anisotropy and norms always come from the keys as given (geometry = post), see
/// ecokv-1. A key with a NaN or infinite component counts as the zero key; lengths beyond float32
/// saturate. Fewer than two tokens have redundancy 0.
Status keyStatistics(const KeyStatisticsInput& input, const KeyStatisticsOutput& output,
                     Backend backend, Stream stream = nullptr);

} // namespace ecokv::kernels
