#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Which patches attend to each other in a tower of Qwen: all of a picture, or those of a square
// window (Qwen2.5-VL), whose image tokens are put next to each other for it. Host values only.

#include "model/image/patch_grid.h"

#include <cstdint>
#include <vector>

namespace ecokv::model {

/// `count` groups of `patches` patches each, one behind the other; each attends to itself.
struct AttentionRun {
    std::int64_t count = 1, patches = 0;

    bool operator==(const AttentionRun&) const = default;
};

struct PatchWindows {
    std::vector<std::int64_t> order; ///< [imageToken] the token that moves here
    std::vector<AttentionRun> runs;  ///< windows in this order; equal neighbours share a run
};

/// Windows of side x side image tokens from the top left corner, row by row; those at the right
/// and lower edge are smaller where the grid does not divide.
PatchWindows windowsOf(const PatchGrid& grid, std::int32_t side);

} // namespace ecokv::model
