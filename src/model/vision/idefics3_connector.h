#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What Idefics3 and SmolVLM add to a SigLIP tower: positions by the share of the picture that lies
// before a patch (arXiv 2307.06304), and the connector that merges neighbouring patches.

#include "model/aten.h"
#include "model/layers.h"
#include "model/weight_loader.h"

#include <cstdint>

namespace ecokv::model {

/// Row of a position table of `tableSide` x `tableSide` for each patch of a tile of `side` x
/// `side`, [side * side] i64. Shares are rounded to `dtype`, the one of the pixels, as the
/// reference rounds them: in bf16 neighbours of a 27 x 27 table fall together.
at::Tensor positionsByShare(std::int64_t tableSide, std::int64_t side, c10::ScalarType dtype);

class Idefics3Connector {
public:
    Idefics3Connector(std::int64_t merged, std::int64_t visionHidden, std::int64_t hidden,
                      WeightLoader& loader);

    /// [patch, visionHidden] of a square tile to [patch / merged^2, hidden].
    at::Tensor project(const at::Tensor& features) const;

private:
    std::int64_t m_merged; ///< patches along each axis that become one token
    Linear m_projection;
};

} // namespace ecokv::model
