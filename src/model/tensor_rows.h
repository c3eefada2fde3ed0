#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Runs of rows of a tensor. Where nothing is cut off, the tensor itself: making a view costs as
// much as a small operation, which a decoding step would notice. Private to src/model.

#include "model/aten.h"

namespace ecokv::model {

/// Rows [begin, begin + count) of a dimension.
inline at::Tensor rowsFrom(const at::Tensor& t, std::int64_t dimension, std::int64_t begin,
                           std::int64_t count) {
    return count == t.size(dimension) ? t : t.narrow(dimension, begin, count);
}

/// The last `count` rows of a dimension.
inline at::Tensor lastRows(const at::Tensor& t, std::int64_t dimension, std::int64_t count) {
    return rowsFrom(t, dimension, t.size(dimension) - count, count);
}

} // namespace ecokv::model
