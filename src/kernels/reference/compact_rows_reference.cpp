// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/backends.h"

#include <cstring>

namespace ecokv::kernels::reference {

Status compactRows(const TensorView& rows, const std::int32_t* kept, std::int64_t count) {
    const auto size = static_cast<std::int64_t>(dtypeSize(rows.dtype));
    const std::int64_t stride = rows.strides[0] * size;
    const auto rowBytes = static_cast<std::size_t>(rows.shape[1] * size);
    auto* base = rows.as<std::byte>();
    for (std::int64_t i = 0; i < count; ++i) {
        std::memmove(base + i * stride, base + kept[i] * stride, rowBytes);
    }
    return Status::Ok;
}

} // namespace ecokv::kernels::reference
