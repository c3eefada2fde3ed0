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

Status compactHeads(std::span<const RowsToCompact> heads, Backend backend, Stream stream) {
    for (const RowsToCompact& head : heads) {
        const Status status = checkRows(head.rows, head.kept.data(),
                                        static_cast<std::int64_t>(head.kept.size()), backend);
        const TensorView& first = heads.front().rows;
        const bool alike = head.rows.dtype == first.dtype && head.rows.shape[1] == first.shape[1];
        if (status != Status::Ok || !alike) {
            return status != Status::Ok ? status : Status::BadShape;
        }
        if (head.rows.device != first.device) {
            return Status::DeviceMismatch;
        }
    }
    if (backend == Backend::Cuda) {
        return cuda::compactHeads(heads, stream);
    }
    for (const RowsToCompact& head : heads) {
        const auto count = static_cast<std::int64_t>(head.kept.size());
        const Status status = backend == Backend::Reference
                                  ? reference::compactRows(head.rows, head.kept.data(), count)
                                  : cpu::compactRows(head.rows, head.kept.data(), count);
        if (status != Status::Ok) {
            return status;
        }
    }
    return Status::Ok;
}

Status compactRows(const TensorView& rows, const std::int32_t* kept, std::int64_t count,
                   Backend backend, Stream stream) {
    if (count < 0 || (count > 0 && kept == nullptr)) {
        return Status::BadShape;
    }
    const RowsToCompact head{rows, {kept, static_cast<std::size_t>(count)}};
    return compactHeads({&head, 1}, backend, stream);
}

} // namespace ecokv::kernels
