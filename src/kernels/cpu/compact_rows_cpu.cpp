// SPDX-License-Identifier: GPL-3.0-or-later
// Runs of neighbouring rows move in one piece.
#include "kernels/backends.h"

#include <cstring>

namespace ecokv::kernels::cpu {

namespace {

/// Rows kept[begin] .. kept[begin] + length - 1 are neighbours.
std::int64_t runLength(const std::int32_t* kept, std::int64_t begin, std::int64_t count) {
    std::int64_t end = begin + 1;
    while (end < count && kept[end] == kept[end - 1] + 1) {
        ++end;
    }
    return end - begin;
}

} // namespace

Status compactRows(const TensorView& rows, const std::int32_t* kept, std::int64_t count) {
    const auto size = static_cast<std::int64_t>(dtypeSize(rows.dtype));
    const std::int64_t stride = rows.strides[0] * size;
    const auto rowBytes = static_cast<std::size_t>(rows.shape[1] * size);
    const bool dense = static_cast<std::int64_t>(rowBytes) == stride;
    auto* base = rows.as<std::byte>();
    std::int64_t i = 0;
    while (i < count && kept[i] == i) { // already in place
        ++i;
    }
    while (i < count) {
        const std::int64_t run = dense ? runLength(kept, i, count) : 1;
        std::memmove(base + i * stride, base + kept[i] * stride,
                     rowBytes * static_cast<std::size_t>(run));
        i += run;
    }
    return Status::Ok;
}

} // namespace ecokv::kernels::cpu
