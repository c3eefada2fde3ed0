#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// In-place compaction of the rows of one head: row kept[i] moves to row i. Thread-safe per head.

#include "kernels/kernel_types.h"

namespace ecokv::kernels {

/// `rows` [token, dim] of any dtype with unit stride in dim; `kept` [count] i32, strictly
/// ascending, host. On Backend::Cuda the rows are device memory.
Status compactRows(const TensorView& rows, const std::int32_t* kept, std::int64_t count,
                   Backend backend, Stream stream = nullptr);

} // namespace ecokv::kernels
