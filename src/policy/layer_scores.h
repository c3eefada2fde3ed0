#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Input and result of scoring one layer. The same code runs in a live run and in replay. Results
// are host values in fp32.

#include "base/ids.h"
#include "base/tensor_view.h"
#include "kernels/kernel_types.h"
#include "policy/policy_config.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ecokv::policy {

struct LayerInput {
    LayerId layer;
    TensorView keys;          ///< [kvHead, token, dim] as cached (after RoPE)
    TensorView values;        ///< [kvHead, token, dim]; may be empty where no scorer needs it
    TensorView windowQueries; ///< [head, row, dim]; the last rows are the observation window
    std::span<const std::int64_t> positions;       ///< [token] true positions
    std::span<const std::int64_t> windowPositions; ///< [row]
    const kernels::Rotation* rotation = nullptr;   ///< needed by geometry = pre
    std::int32_t firstHead = 0;                    ///< KV head of the layer that `keys` begins with
};

/// Per token arrays are [kvHead, token] over all N tokens; NaN for protected tokens.
struct LayerScores {
    LayerId layer;
    std::int32_t kvHeads = 0;
    std::int64_t tokens = 0;
    std::vector<float> importance, diversityCosine, diversityEuclid, diversity, score;
    std::vector<float> keyNorm, valueNorm; ///< for every token, protected ones too
    /// [kvHead]
    std::vector<float> redundancyCosine, redundancyEuclid, redundancy, anisotropy, meanKeyNorm;
    /// Keys, values or observed query rows hold NaN or Inf: the numbers above say nothing.
    bool isDamaged = false;
    std::vector<std::string> notes; ///< "layer 3 head 1: all value norms equal, counted as 0"
};

} // namespace ecokv::policy
