#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Device side of compactRows: gathers the kept rows into scratch memory and copies them back, since
// rows that move forward overlap rows that other blocks still read.

#include "kernels/cuda/simt.h"

namespace ecokv::kernels::cuda {

inline constexpr int kCopyThreads = 128;

/// Copies 2-byte words: `to` [count] rows of `toStride` words from row kept[i] (or i, where `kept`
/// is null) of `from`. Grid (count, 1).
ECOKV_GLOBAL void copyRows(const std::uint16_t* from, std::int64_t fromStride,
                           const std::int32_t* kept, std::uint16_t* to, std::int64_t toStride,
                           std::int64_t words) {
    const std::int64_t row = simt::blockX();
    const std::int64_t source = kept != nullptr ? kept[row] : row;
    for (std::int64_t i = simt::thread(); i < words; i += simt::threads()) {
        to[row * toStride + i] = from[source * fromStride + i];
    }
}

} // namespace ecokv::kernels::cuda
