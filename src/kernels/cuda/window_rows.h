#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Device side: the window rows of the query heads that share a KV head.

#include "kernels/cuda/element.h"

namespace ecokv::kernels::cuda {

template <class T> struct Window {
    Rows<T> queries;     ///< [head, window, dim]
    Positions positions; ///< [window]
    int group;           ///< query heads per KV head

    ECOKV_HOST_DEVICE std::int64_t count() const { return queries.rows * group; }
    ECOKV_DEVICE const T* row(int kvHead, std::int64_t index) const {
        return queries.row(static_cast<std::int64_t>(kvHead) * group + index / queries.rows,
                           index % queries.rows);
    }
    ECOKV_DEVICE std::int64_t position(std::int64_t index) const {
        return positions.at(index % queries.rows);
    }
};

} // namespace ecokv::kernels::cuda
