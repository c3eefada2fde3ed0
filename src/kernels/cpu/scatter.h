#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: sums of centred outer products of rows, vectorised in scatter.cpp. Tiles of 256 rows
// are fp32, everything above is fp64.

#include "kernels/cpu/row_source.h"

namespace ecokv::kernels::cpu {

constexpr std::int64_t kScatterRows = 256;

struct ScatterBlock {
    RowSource rows;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    float* centred = nullptr; ///< scratch [kScatterRows, paddedDim(dim)]
    float* product = nullptr; ///< scratch [paddedDim(dim), paddedDim(dim)]
};

/// scatter [paddedDim(dim), paddedDim(dim)] += (row - mean)(row - mean)^T, upper triangle and more.
/// Rows that are not finite count as zero rows.
void addScatter(const ScatterBlock& block, const float* mean, double* scatter);

} // namespace ecokv::kernels::cpu
