#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: the rows of one head, as the vectorised kernels take them, and aligned host scratch.

#include "base/tensor_view.h"
#include "kernels/device_memory.h"

#include <algorithm>
#include <cstdint>

namespace ecokv::kernels::cpu {

struct RowSource {
    const void* data = nullptr; ///< [row, dim], unit stride in dim
    DType dtype = DType::F32;
    std::int64_t rowStride = 0; ///< elements
    std::int64_t dim = 0;
};

inline RowSource rowsOfHead(const TensorView& tensor, std::int64_t head) {
    const auto offset = static_cast<std::size_t>(head * tensor.strides[0]);
    return {tensor.as<std::byte>() + offset * dtypeSize(tensor.dtype), tensor.dtype,
            tensor.strides[1], tensor.shape[2]};
}

/// Rows of scratch are padded to whole vectors of any width, with zeros.
inline std::int64_t paddedDim(std::int64_t dim) {
    return (dim + 15) / 16 * 16;
}

enum class Contents : std::uint8_t { Zero, Any };

/// 64-byte aligned host array.
template <class T> class Scratch {
public:
    explicit Scratch(std::int64_t count, Contents contents = Contents::Zero);

    T* data() const { return static_cast<T*>(m_buffer.data()); }
    T* slot(std::int64_t index, std::int64_t size) const { return data() + index * size; }

private:
    DeviceBuffer m_buffer;
};

template <class T>
Scratch<T>::Scratch(std::int64_t count, Contents contents)
    : m_buffer(static_cast<std::size_t>(count) * sizeof(T), {}) {
    if (contents == Contents::Zero) {
        std::fill_n(data(), count, T{});
    }
}

} // namespace ecokv::kernels::cpu
