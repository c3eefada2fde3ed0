#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The last query rows of one layer, kept on the model's device while tokens arrive: what a policy
// observes when it evicts during generation. One thread.

#include "base/tensor_view.h"
#include "kernels/device_memory.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ecokv::session {

class QueryWindow {
public:
    /// Remembers at most `rows` rows.
    explicit QueryWindow(std::int64_t rows) : m_limit(rows) {}

    /// queries [head, row, dim] of any device, the newest row last; positions [row].
    void append(const TensorView& queries, std::span<const std::int64_t> positions);

    std::int64_t limit() const { return m_limit; }
    std::int64_t rows() const { return static_cast<std::int64_t>(m_positions.size()); }
    TensorView queries() const; ///< [head, row, dim]
    std::span<const std::int64_t> positions() const { return m_positions; }
    /// A copy that remembers at most `rows` rows.
    QueryWindow copy(std::int64_t rows) const;

private:
    void allocate(const TensorView& like);
    void appendRow(const TensorView& row, std::int64_t position);
    std::byte* slot(std::int64_t index) const;

    std::int64_t m_limit = 0;
    std::int64_t m_heads = 0, m_dim = 0;
    DType m_dtype = DType::F32;
    kernels::DeviceBuffer m_buffer; ///< [slot, head, dim]: room for twice the limit
    std::int64_t m_begin = 0;       ///< slot of the oldest row
    std::vector<std::int64_t> m_positions;
};

/// One window per layer.
using QueryWindows = std::vector<QueryWindow>;

} // namespace ecokv::session
