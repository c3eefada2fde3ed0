#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Rotary positions in the half style of Llama: pairs (i, i + dim/2) turned by position * frequency.
// Angles in f32, as transformers computes them.

#include "model/aten.h"
#include "model/model_info.h"

#include <cstdint>
#include <span>

namespace ecokv::model {

/// Cosine and sine of the positions of one call, shared by all its layers.
struct RotaryTables {
    at::Tensor cosine, sine; ///< [token, dim / 2], compute dtype and device
};

class Rotary {
public:
    Rotary(const RopeSettings& settings, const at::TensorOptions& compute);

    RotaryTables tables(std::span<const std::int64_t> positions) const;

private:
    at::Tensor m_inverseFrequencies; ///< [dim / 2] f32, host
    at::TensorOptions m_compute;
};

/// x [token, head, dim] of any strides to rotated, contiguous [head, token, dim].
at::Tensor rotate(const at::Tensor& x, const RotaryTables& tables);

} // namespace ecokv::model
