#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the steps of all operations share: grids, element types, uploads, positions.

#include "base/tensor_view.h"
#include "kernels/cuda/element.h"
#include "kernels/kernel_types.h"

namespace ecokv::kernels::cuda {

struct Grid {
    std::int64_t x = 1, y = 1;
};

inline std::int64_t blocksFor(std::int64_t count, std::int64_t perBlock) {
    return (count + perBlock - 1) / perBlock;
}

template <class T> Rows<T> rowsOf(const TensorView& tensor) {
    return {tensor.as<const T>(), tensor.strides[0], tensor.strides[1], tensor.shape[1],
            static_cast<int>(tensor.shape[2])};
}

/// Calls `use` with the rows of `tensor` in its element type.
template <class Use> Status withRows(const TensorView& tensor, Use&& use) {
    switch (tensor.dtype) {
    case DType::F32:
        return use(rowsOf<float>(tensor));
    case DType::BF16:
        return use(rowsOf<Bf16>(tensor));
    case DType::F16:
        return use(rowsOf<F16>(tensor));
    default:
        return Status::UnsupportedDType;
    }
}

template <class T, class Runtime>
const T* uploaded(Runtime& runtime, const T* values, std::int64_t count) {
    T* copy = runtime.template scratch<T>(count);
    runtime.upload(copy, values, count);
    return copy;
}

/// Positions of a tensor's rows. A prompt's are consecutive and then need no memory on the GPU.
template <class Runtime>
Positions uploadPositions(Runtime& runtime, const std::int64_t* positions, std::int64_t count) {
    bool consecutive = true;
    for (std::int64_t i = 0; i < count; ++i) {
        consecutive &= positions[i] == positions[0] + i;
    }
    if (consecutive) {
        return {nullptr, count > 0 ? positions[0] : 0};
    }
    return {uploaded(runtime, positions, count), 0};
}

/// Whether every row [head, row, dim] can be read eight elements at a time.
inline bool readableInEights(const TensorView& tensor) {
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
    return address % 16 == 0 && tensor.shape[2] % 8 == 0 && tensor.strides[0] % 8 == 0 &&
           tensor.strides[1] % 8 == 0;
}

} // namespace ecokv::kernels::cuda
