// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/argument_checks.h"

#include "kernels/backend_choice.h"

#include <algorithm>

namespace ecokv::kernels {

Status checkFloatTensor(const TensorView& tensor, std::size_t rank, Backend backend) {
    if (tensor.rank != rank) {
        return Status::BadShape;
    }
    if (tensor.dtype != DType::F32 && tensor.dtype != DType::BF16 && tensor.dtype != DType::F16) {
        return Status::UnsupportedDType;
    }
    for (std::size_t i = 0; i < rank; ++i) {
        if (tensor.shape[i] < 0) {
            return Status::BadShape;
        }
    }
    if (tensor.shape[rank - 1] > 1 && tensor.strides[rank - 1] != 1) {
        return Status::BadShape;
    }
    if (tensor.numel() > 0 && tensor.data == nullptr) {
        return Status::BadShape;
    }
    return tensor.device.kind == deviceKindOf(backend) ? Status::Ok : Status::DeviceMismatch;
}

Status checkRotation(const Rotation& rotation, std::int64_t dim) {
    const std::int64_t pairs = rotation.pairsOf(dim);
    const bool sizes = rotation.pairs > 0 ? 2 * pairs <= dim : rotation.pairs == 0 && dim % 2 == 0;
    const bool placed = rotation.positions != nullptr || rotation.axisPositions != nullptr;
    if (!sizes || !placed || rotation.inverseFrequencies == nullptr ||
        !(rotation.attentionScaling > 0.0F)) {
        return Status::BadShape;
    }
    const bool threeAxes =
        rotation.axes == nullptr || std::all_of(rotation.axes, rotation.axes + pairs,
                                                [](std::uint8_t axis) { return axis < 3; });
    return threeAxes ? Status::Ok : Status::BadShape;
}

} // namespace ecokv::kernels
