#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Rotary positions in the half style of Llama: pairs (i, i + rotaryDim/2) turned by position *
// frequency. Each pair turns by the time, row or column of its token (M-RoPE); text has three times
// the same. Angles in f32, as transformers computes them.

#include "cache/kv_cache.h"
#include "model/aten.h"
#include "model/model_info.h"

#include <cstdint>
#include <span>

namespace ecokv::model {

/// Cosine and sine of the positions of one call, shared by all its layers.
struct RotaryTables {
    at::Tensor cosine, sine; ///< [token, pair], compute dtype and device
};

class Rotary {
public:
    Rotary(const RopeSettings& settings, const at::TensorOptions& compute);

    RotaryTables tables(std::span<const std::int64_t> positions) const;
    RotaryTables tables(std::span<const cache::RopePosition> positions) const;

private:
    RotaryTables tablesOf(const at::Tensor& angles) const;

    at::Tensor m_inverseFrequencies; ///< [pair] f32, host
    at::Tensor m_axes;               ///< [pair] i64, or undefined = all the first
    float m_attentionScaling = 1.0F;
    at::TensorOptions m_compute;
};

/// x [token, head, dim] of any strides to contiguous [head, token, dim], of which the first
/// 2 * pairs dims are rotated.
at::Tensor rotate(const at::Tensor& x, const RotaryTables& tables);

} // namespace ecokv::model
