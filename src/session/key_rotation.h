#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How the keys of one layer were rotated, as kernels undo it. Points into what it was made from.

#include "kernels/kernel_types.h"
#include "model/model_info.h"

#include <array>
#include <cstdint>
#include <span>

namespace ecokv::session {

class KeyRotation {
public:
    using RopePositions = std::span<const std::array<std::int32_t, 3>>;

    /// `positions` [token] true positions; `ropePositions` [token] time, row, column, or empty.
    KeyRotation(const model::LayerRopes& ropes, LayerId layer,
                std::span<const std::int64_t> positions, RopePositions ropePositions)
        : m_known(!ropes.settings.empty()), m_rotation(kernels::Rotation::none(positions.data())) {
        const model::RopeSettings& rope = ropes.of(layer);
        if (rope.inverseFrequencies.empty()) {
            return; // the keys of this layer do not turn
        }
        m_rotation.style = rope.style;
        m_rotation.inverseFrequencies = rope.inverseFrequencies.data();
        m_rotation.pairs = rope.rotaryDim() / 2;
        m_rotation.attentionScaling = rope.attentionScaling;
        if (!ropePositions.empty()) { // otherwise all positions of a token are the same
            m_rotation.axes = rope.axes.empty() ? nullptr : rope.axes.data();
            m_rotation.axisPositions = ropePositions.data();
        }
    }

    /// Null where nothing is known of ropes.
    const kernels::Rotation* get() const { return m_known ? &m_rotation : nullptr; }

private:
    bool m_known;
    kernels::Rotation m_rotation;
};

} // namespace ecokv::session
