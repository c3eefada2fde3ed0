// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/tensor_view.h"

#include "base/error.h"

#include <fmt/format.h>

namespace ecokv {

std::size_t dtypeSize(DType dtype) {
    switch (dtype) {
    case DType::F32:
    case DType::I32:
        return 4;
    case DType::BF16:
    case DType::F16:
        return 2;
    case DType::I64:
        return 8;
    case DType::U8:
        return 1;
    }
    throwInternal("A tensor has an unknown dtype.");
}

const char* dtypeName(DType dtype) {
    switch (dtype) {
    case DType::F32:
        return "float32";
    case DType::BF16:
        return "bfloat16";
    case DType::F16:
        return "float16";
    case DType::I64:
        return "int64";
    case DType::I32:
        return "int32";
    case DType::U8:
        return "uint8";
    }
    throwInternal("A tensor has an unknown dtype.");
}

TensorView TensorView::contiguous(void* data, DType dtype,
                                  std::initializer_list<std::int64_t> shape, Device device) {
    if (shape.size() > kMaxRank) {
        throwInternal(fmt::format("A tensor of {} dimensions was made; at most {} are supported.",
                                  shape.size(), kMaxRank));
    }
    TensorView view{data, dtype, device, shape.size(), {}, {}};
    std::size_t dim = 0;
    for (const std::int64_t extent : shape) {
        view.shape[dim++] = extent;
    }
    std::int64_t stride = 1;
    for (std::size_t i = view.rank; i-- > 0;) {
        view.strides[i] = stride;
        stride *= view.shape[i];
    }
    return view;
}

std::int64_t TensorView::numel() const {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < rank; ++i) {
        count *= shape[i];
    }
    return count;
}

bool TensorView::isContiguous() const {
    std::int64_t stride = 1;
    for (std::size_t i = rank; i-- > 0;) {
        if (shape[i] != 1 && strides[i] != stride) {
            return false;
        }
        stride *= shape[i];
    }
    return true;
}

TensorView TensorView::operator[](std::int64_t index) const {
    if (rank == 0 || index < 0 || index >= shape[0]) {
        throwInternal(fmt::format("Index {} is outside of {}.", index, describe()));
    }
    TensorView view{nullptr, dtype, device, rank - 1, {}, {}};
    view.data = static_cast<std::byte*>(data) +
                static_cast<std::size_t>(index * strides[0]) * dtypeSize(dtype);
    for (std::size_t i = 1; i < rank; ++i) {
        view.shape[i - 1] = shape[i];
        view.strides[i - 1] = strides[i];
    }
    return view;
}

TensorView TensorView::slice(std::size_t dim, std::int64_t begin, std::int64_t end) const {
    if (dim >= rank || begin < 0 || begin > end || end > shape[dim]) {
        throwInternal(fmt::format("Slice {}..{} of dimension {} is outside of {}.", begin, end, dim,
                                  describe()));
    }
    TensorView view = *this;
    view.data = static_cast<std::byte*>(data) +
                static_cast<std::size_t>(begin * strides[dim]) * dtypeSize(dtype);
    view.shape[dim] = end - begin;
    return view;
}

std::string TensorView::describe() const {
    std::string extents;
    for (std::size_t i = 0; i < rank; ++i) {
        extents += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
    }
    return fmt::format("{} [{}] on {}", dtypeName(dtype), extents,
                       device.kind == DeviceKind::Cpu ? "cpu"
                                                      : fmt::format("cuda:{}", device.index));
}

} // namespace ecokv
