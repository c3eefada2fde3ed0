#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a tower of Qwen knows of a patch's row and column: rotary tables for its attention and, in
// Qwen3-VL, a learned embedding interpolated between the corners of a square grid.

#include "model/aten.h"
#include "model/decoder/rotary.h"
#include "model/image/patch_grid.h"

namespace ecokv::model {

/// Half of a head's pairs turn by the row, half by the column, base 10000. [patch, headDim / 2]
/// f32 on `device`, in the order of the grid.
RotaryTables patchRotary(const PatchGrid& grid, std::int64_t headDim, const c10::Device& device);

/// embedding [side^2, hidden], rows of a square grid that is stretched over the picture, to
/// [patch, hidden] in the order of the grid.
at::Tensor interpolatedPositions(const at::Tensor& embedding, const PatchGrid& grid);

} // namespace ecokv::model
