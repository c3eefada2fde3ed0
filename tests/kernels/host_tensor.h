#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Host tensors [head, row, dim] of any float dtype for kernel tests, with gaps between rows that
// hold NaN, so that reading outside a row shows. One thread.

#include "base/float_convert.h"
#include "base/tensor_view.h"

#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace ecokv::test {

class HostTensor {
public:
    HostTensor(DType dtype, std::int64_t heads, std::int64_t rows, std::int64_t dim,
               std::int64_t gap = 0)
        : m_dtype(dtype), m_heads(heads), m_rows(rows), m_dim(dim), m_stride(dim + gap),
          m_bytes(static_cast<std::size_t>(heads * rows * (dim + gap) + 1) * dtypeSize(dtype)) {
        for (std::int64_t i = 0; i < heads * rows * m_stride; ++i) {
            store(i, std::numeric_limits<float>::quiet_NaN());
        }
    }

    void set(std::int64_t head, std::int64_t row, std::int64_t i, float value) {
        store((head * m_rows + row) * m_stride + i, value);
    }
    void setRow(std::int64_t head, std::int64_t row, const std::vector<float>& values) {
        for (std::int64_t i = 0; i < m_dim; ++i) {
            set(head, row, i, values[static_cast<std::size_t>(i)]);
        }
    }
    /// The stored (rounded) value.
    float get(std::int64_t head, std::int64_t row, std::int64_t i) const {
        const auto at = static_cast<std::size_t>((head * m_rows + row) * m_stride + i);
        if (m_dtype == DType::F32) {
            float value = 0;
            std::memcpy(&value, m_bytes.data() + 4 * at, 4);
            return value;
        }
        std::uint16_t bits = 0;
        std::memcpy(&bits, m_bytes.data() + 2 * at, 2);
        return m_dtype == DType::BF16 ? bf16ToFloat(bits) : f16ToFloat(bits);
    }
    /// value(head, row, i) for every element.
    void fill(const std::function<float(std::int64_t, std::int64_t, std::int64_t)>& value) {
        for (std::int64_t head = 0; head < m_heads; ++head) {
            for (std::int64_t row = 0; row < m_rows; ++row) {
                for (std::int64_t i = 0; i < m_dim; ++i) {
                    set(head, row, i, value(head, row, i));
                }
            }
        }
    }
    /// offset(i) + normal noise, a different seed a different tensor.
    void fillNormal(unsigned seed, float offset = 0.0F) {
        std::mt19937 generator(seed);
        std::normal_distribution<float> normal;
        fill([&](std::int64_t head, std::int64_t, std::int64_t i) {
            const bool odd = (head + i) % 2 == 1;
            return normal(generator) + (odd ? -offset : offset);
        });
    }

    TensorView view() const {
        auto view = TensorView::contiguous(const_cast<std::byte*>(m_bytes.data()), m_dtype,
                                           {m_heads, m_rows, m_dim});
        view.strides = {m_rows * m_stride, m_stride, 1, 0};
        return view;
    }

private:
    void store(std::int64_t index, float value) {
        const auto at = static_cast<std::size_t>(index);
        if (m_dtype == DType::F32) {
            std::memcpy(m_bytes.data() + 4 * at, &value, 4);
            return;
        }
        const std::uint16_t bits = m_dtype == DType::BF16 ? floatToBf16(value) : floatToF16(value);
        std::memcpy(m_bytes.data() + 2 * at, &bits, 2);
    }

    DType m_dtype;
    std::int64_t m_heads, m_rows, m_dim, m_stride;
    std::vector<std::byte> m_bytes;
};

/// One point of the shape matrix that every kernel is checked on.
struct Shape {
    DType dtype;
    std::int64_t tokens, dim, gap;
    float offset; ///< how far the keys' mean is from 0: redundancy
};

inline std::vector<Shape> shapeMatrix() {
    std::vector<Shape> shapes;
    for (const DType dtype : {DType::F32, DType::BF16, DType::F16}) {
        for (const std::int64_t tokens : {1, 2, 7, 33, 1000}) {
            for (const std::int64_t dim : {32, 64, 80, 128}) {
                shapes.push_back(
                    {dtype, tokens, dim, tokens % 2 == 0 ? 0 : 8, tokens % 3 == 0 ? 3.0F : 0.3F});
            }
        }
        shapes.push_back({dtype, 515, 13, 3, 1.0F});   // a dim below and between vectors
        shapes.push_back({dtype, 130, 200, 0, 1.0F});  // a dim above 128
        shapes.push_back({dtype, 1537, 96, 32, 0.0F}); // several blocks and a tail
    }
    return shapes;
}

inline std::string describe(const Shape& shape) {
    return std::string(dtypeName(shape.dtype)) + " tokens " + std::to_string(shape.tokens) +
           " dim " + std::to_string(shape.dim);
}

} // namespace ecokv::test
