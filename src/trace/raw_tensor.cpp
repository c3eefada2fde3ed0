// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/raw_tensor.h"

namespace ecokv::trace {

RawTensor::RawTensor(DType dtype, std::int64_t heads, std::int64_t rows, std::int64_t dim)
    : m_bytes(static_cast<std::size_t>(heads * rows * dim) * dtypeSize(dtype)) {
    m_memory = std::make_unique_for_overwrite<std::byte[]>(m_bytes);
    m_view = TensorView::contiguous(m_memory.get(), dtype, {heads, rows, dim});
}

} // namespace ecokv::trace
