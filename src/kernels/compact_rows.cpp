// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/compact_rows.h"

#include "kernels/backend_choice.h"
#include "kernels/backends.h"

namespace ecokv::kernels {

namespace {

Status checkRows(const TensorView& rows, const std::int32_t* kept, std::int64_t count,
                 Backend backend) {
    const bool matrix = rows.rank == 2 && (rows.shape[1] <= 1 || rows.strides[1] == 1) &&
                        (rows.shape[0] <= 1 || rows.strides[0] >= rows.shape[1]);
    if (!matrix || count < 0 || count > rows.shape[0] || (count > 0 && (!kept || !rows.data))) {
        return Status::BadShape;
    }
    std::int64_t previous = -1;
    for (std::int64_t i = 0; i < count; ++i) {
        if (kept[i] <= previous || kept[i] >= rows.shape[0]) {
            return Status::BadShape;
        }
        previous = kept[i];
    }
    return rows.device.kind == deviceKindOf(backend) ? Status::Ok : Status::DeviceMismatch;
}

} // namespace

Status compactRows(const TensorView& rows, const std::int32_t* kept, std::int64_t count,
                   Backend backend, Stream stream) {
    const Status status = checkRows(rows, kept, count, backend);
    if (status != Status::Ok) {
        return status;
    }
    switch (backend) {
    case Backend::Reference:
        return reference::compactRows(rows, kept, count);
    case Backend::Cpu:
        return cpu::compactRows(rows, kept, count);
    case Backend::Cuda:
        return cuda::compactRows(rows, kept, count, stream);
    }
    return Status::BadShape;
}

} // namespace ecokv::kernels
