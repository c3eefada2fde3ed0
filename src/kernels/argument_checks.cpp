// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/argument_checks.h"

#include "kernels/backend_choice.h"

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
    const bool usable = dim % 2 == 0 && rotation.inverseFrequencies != nullptr &&
                        rotation.positions != nullptr && rotation.attentionScaling > 0.0F;
    return usable ? Status::Ok : Status::BadShape;
}

} // namespace ecokv::kernels
