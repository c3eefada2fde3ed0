#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: cosines and sines of every token of a layer, [token, pair] each, for geometry pre;
// made once and shared by all heads (or layers).

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_source.h"
#include "kernels/rotation.h"

namespace ecokv::kernels::cpu {

/// Empty without a rotation.
class RotationTable {
public:
    RotationTable() : RotationTable(nullptr, 0, 0) {}
    RotationTable(const Rotation* rotation, std::int64_t tokens, std::int64_t dim)
        : m_pairs(rotation ? rotation->pairsOf(dim) : 0), m_cosines(tokens * m_pairs),
          m_sines(tokens * m_pairs) {
        if (rotation == nullptr) {
            return;
        }
        parallelFor(tokens, 16 * tokens * dim, [&](std::int64_t token, int) {
            rotationRow(*rotation, token, m_pairs, m_cosines.slot(token, m_pairs),
                        m_sines.slot(token, m_pairs));
        });
    }

    std::int64_t pairs() const { return m_pairs; }
    const float* cosines() const { return m_cosines.data(); }
    const float* sines() const { return m_sines.data(); }

private:
    std::int64_t m_pairs;
    Scratch<float> m_cosines;
    Scratch<float> m_sines;
};

} // namespace ecokv::kernels::cpu
