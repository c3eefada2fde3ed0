#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// In-place compaction of the rows of heads: row kept[i] moves to row i. Thread-safe per head.

#include "kernels/kernel_types.h"

#include <span>

namespace ecokv::kernels {

/// `rows` [token, dim] of any dtype with unit stride in dim; `kept` [count] i32, strictly
/// ascending, host. On Backend::Cuda the rows are device memory.
Status compactRows(const TensorView& rows, const std::int32_t* kept, std::int64_t count,
                   Backend backend, Stream stream = nullptr);

/// `rows` and `kept` of one head as above.
struct RowsToCompact {
    TensorView rows;
    std::span<const std::int32_t> kept;
};

/// Heads of one dtype and width, keys and values alike, in one go: on a GPU a single launch moves
/// every byte once. Nothing has moved if it refuses. Backend::Cuda takes rows of up to 1024 words
/// of the largest size that divides addresses, rows and strides (16, 4, 2 or 1 bytes).
Status compactHeads(std::span<const RowsToCompact> heads, Backend backend, Stream stream = nullptr);

} // namespace ecokv::kernels
