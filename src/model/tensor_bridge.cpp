// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/tensor_bridge.h"

#include "base/error.h"

#include <fmt/format.h>

namespace ecokv::model {

c10::ScalarType toTorch(DType dtype) {
    switch (dtype) {
    case DType::F32:
        return c10::kFloat;
    case DType::BF16:
        return c10::kBFloat16;
    case DType::F16:
        return c10::kHalf;
    case DType::I64:
        return c10::kLong;
    case DType::I32:
        return c10::kInt;
    case DType::U8:
        return c10::kByte;
    }
    throwInternal("A tensor has an unknown dtype.");
}

c10::Device toTorch(Device device) {
    if (device.kind == DeviceKind::Cpu) {
        return c10::Device(c10::kCPU);
    }
    return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device.index));
}

DType fromTorch(c10::ScalarType dtype) {
    switch (dtype) {
    case c10::kFloat:
        return DType::F32;
    case c10::kBFloat16:
        return DType::BF16;
    case c10::kHalf:
        return DType::F16;
    case c10::kLong:
        return DType::I64;
    case c10::kInt:
        return DType::I32;
    case c10::kByte:
        return DType::U8;
    default:
        throwInternal(fmt::format("LibTorch made a tensor of dtype {}, which has no counterpart.",
                                  c10::toString(dtype)));
    }
}

Device fromTorch(const c10::Device& device) {
    if (device.is_cpu()) {
        return {};
    }
    return {DeviceKind::Cuda, device.has_index() ? device.index() : 0};
}

TensorView viewOf(const at::Tensor& tensor) {
    if (tensor.dim() > static_cast<std::int64_t>(TensorView::kMaxRank)) {
        throwInternal(fmt::format("A tensor of {} dimensions cannot be viewed.", tensor.dim()));
    }
    TensorView view;
    view.data = tensor.data_ptr();
    view.dtype = fromTorch(tensor.scalar_type());
    view.device = fromTorch(tensor.device());
    view.rank = static_cast<std::size_t>(tensor.dim());
    for (std::size_t i = 0; i < view.rank; ++i) {
        view.shape[i] = tensor.size(static_cast<std::int64_t>(i));
        view.strides[i] = tensor.stride(static_cast<std::int64_t>(i));
    }
    return view;
}

at::Tensor tensorOf(const TensorView& view) {
    const c10::Device device = toTorch(view.device);
    return at::for_blob(view.data, {view.shape.data(), view.rank})
        .strides(at::IntArrayRef(view.strides.data(), view.rank))
        .target_device(device)
        .options(at::TensorOptions(toTorch(view.dtype)).device(device))
        .make_tensor();
}

} // namespace ecokv::model
