#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Settings of Qwen's vision towers: sizes, and what the versions do differently. Filled by the
// families from config.json; names no Torch type.

#include "model/model_config.h"

#include <cstdint>
#include <vector>

namespace ecokv::model {

/// How the weights call what all versions have.
struct QwenTowerNames {
    const char* up = "mlp.fc1";
    const char* down = "mlp.fc2";
    const char* mergerNorm = "ln_q";
    const char* mergerIn = "mlp.0";
    const char* mergerOut = "mlp.2";
};

struct QwenTowerConfig {
    std::int32_t hidden = 0, intermediate = 0, layers = 0, heads = 0;
    std::int32_t output = 0; ///< width of the decoder
    std::int32_t patchSize = 14, temporalPatchSize = 2, mergeSize = 2;
    Activation activation = Activation::QuickGelu;
    QwenTowerNames names;
    bool gated = false; ///< Qwen2.5-VL: RMS norms, a gate in the MLP
    /// Qwen2.5-VL: image tokens on a side of a window; 0 = a patch sees its whole picture.
    std::int32_t windowSide = 0;
    std::vector<std::int32_t> fullLayers; ///< that see the whole picture in spite of windows
    /// Qwen3-VL: side of the square of learned positions, between which others are interpolated;
    /// 0 = none. The patch embedding has a bias then.
    std::int32_t positionSide = 0;
    /// Qwen3-VL: layers whose output goes to the first decoder layers as well.
    std::vector<std::int32_t> deepstackLayers;

    std::int32_t headDim() const { return hidden / heads; }
    std::int64_t patchValues() const {
        return std::int64_t{3} * temporalPatchSize * patchSize * patchSize;
    }
};

} // namespace ecokv::model
