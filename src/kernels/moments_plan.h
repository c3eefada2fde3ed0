#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: what KeyMomentsPlan holds. Rows are the tokens in the order of their groups, so that a
// block of rows is of one group.

#include "kernels/cpu/rotation_table.h"
#include "kernels/key_moments.h"

#include <array>
#include <vector>

namespace ecokv::kernels {

/// Rows [begin, end), all of one group.
struct RowBlock {
    std::int64_t group = 0, begin = 0, end = 0;
};

struct KeyMomentsPlan::Data {
    explicit Data(const KeyMomentsSetup& setup);

    std::int64_t tokens = 0, dim = 0;
    int groupCount = 1;
    Status status = Status::Ok;       ///< what is wrong with the setup; reported when it is used
    std::vector<std::uint8_t> groups; ///< [token]
    std::vector<std::int64_t> tokenOfRow; ///< [row]
    std::vector<RowBlock> blocks;
    bool rotated = false;
    Rotation rotation;         ///< of tokens; points into the arrays below
    Rotation rotationOfRows;   ///< the same of rows
    cpu::RotationTable angles; ///< [row]

private:
    void copyRotation(const Rotation& given);

    std::vector<float> m_frequencies;
    std::vector<std::uint8_t> m_axes;
    std::vector<std::int64_t> m_positions, m_rowPositions;
    std::vector<std::array<std::int32_t, 3>> m_axisPositions, m_rowAxisPositions;
};

} // namespace ecokv::kernels
