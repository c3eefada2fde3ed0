#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A tensor read from a trace exactly as stored: bf16 stays bf16, so that replay works on the very
// numbers the run worked on. Owns its memory; movable; read by any thread.

#include "base/tensor_view.h"

#include <cstddef>
#include <memory>

namespace ecokv::trace {

class RawTensor {
public:
    RawTensor() = default;
    /// Uninitialised memory for [head, row, dim].
    RawTensor(DType dtype, std::int64_t heads, std::int64_t rows, std::int64_t dim);

    const TensorView& view() const { return m_view; } ///< host, row-major; data null = no tensor
    std::size_t bytes() const { return m_bytes; }

private:
    std::unique_ptr<std::byte[]> m_memory;
    std::size_t m_bytes = 0;
    TensorView m_view;
};

} // namespace ecokv::trace
