// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/patch_positions.h"

#include <ATen/ops/linspace.h>
#include <ATen/ops/pow.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace ecokv::model {

namespace {

/// Where a row (or column) of patches lies between two rows of the learned grid.
struct Between {
    std::int64_t lower = 0, upper = 0;
    float share = 0.0F; ///< of the upper one
};

std::vector<Between> stretched(std::int64_t count, std::int64_t side) {
    // linspace rounds from both ends, which a loop of our own would not repeat bit by bit.
    const at::Tensor at = at::linspace(0, side - 1, count, at::TensorOptions(c10::kFloat));
    const float* place = at.const_data_ptr<float>();
    std::vector<Between> result;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto lower = static_cast<std::int64_t>(place[i]);
        result.push_back(
            {lower, std::min(lower + 1, side - 1), place[i] - static_cast<float>(lower)});
    }
    return result;
}

/// Angles of one axis, [position, pairs] f32.
at::Tensor anglesOf(std::int64_t positions, std::int64_t pairs) {
    const at::TensorOptions floats(c10::kFloat);
    const at::Tensor exponents = at::arange(0, 2 * pairs, 2, floats) / (2 * pairs);
    const at::Tensor frequencies = 1.0 / at::pow(10000.0, exponents);
    return at::outer(at::arange(0, positions, floats), frequencies);
}

at::Tensor integers(std::int64_t count) {
    return at::empty({count}, at::TensorOptions(c10::kLong));
}

} // namespace

RotaryTables patchRotary(const PatchGrid& grid, std::int64_t headDim, const c10::Device& device) {
    const std::int64_t patches = grid.patches();
    at::Tensor rows = integers(patches), columns = integers(patches);
    for (std::int64_t patch = 0; patch < patches; ++patch) {
        const PatchPlace place = grid.place(patch);
        rows.data_ptr<std::int64_t>()[patch] = place.row;
        columns.data_ptr<std::int64_t>()[patch] = place.column;
    }
    const at::Tensor angles = anglesOf(std::max(grid.rows, grid.columns), headDim / 4);
    const at::Tensor both =
        at::cat({angles.index_select(0, rows), angles.index_select(0, columns)}, 1);
    return {both.cos().to(device), both.sin().to(device)};
}

at::Tensor interpolatedPositions(const at::Tensor& embedding, const PatchGrid& grid) {
    const auto side =
        static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(embedding.size(0)))));
    const std::vector<Between> rows = stretched(grid.rows, side);
    const std::vector<Between> columns = stretched(grid.columns, side);
    const std::int64_t patches = grid.patches();
    at::Tensor result;
    for (int corner = 0; corner < 4; ++corner) { // upper left first, as the reference adds them
        at::Tensor index = integers(patches);
        at::Tensor weight = at::empty({patches, 1}, at::TensorOptions(c10::kFloat));
        for (std::int64_t patch = 0; patch < patches; ++patch) {
            const PatchPlace place = grid.place(patch);
            const Between& row = rows[static_cast<std::size_t>(place.row)];
            const Between& column = columns[static_cast<std::size_t>(place.column)];
            const bool below = corner >= 2, right = corner % 2 == 1;
            index.data_ptr<std::int64_t>()[patch] =
                (below ? row.upper : row.lower) * side + (right ? column.upper : column.lower);
            weight.data_ptr<float>()[patch] = (below ? row.share : 1.0F - row.share) *
                                              (right ? column.share : 1.0F - column.share);
        }
        const at::Tensor part = embedding.index_select(0, index.to(embedding.device())) *
                                weight.to(embedding.device(), embedding.scalar_type());
        result = result.defined() ? result.add_(part) : part;
    }
    return result;
}

} // namespace ecokv::model
