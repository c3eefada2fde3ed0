// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/query_window.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace ecokv::session {

void QueryWindow::allocate(const TensorView& like) {
    m_heads = like.shape[0];
    m_dim = like.shape[2];
    m_dtype = like.dtype;
    const auto rowBytes = static_cast<std::size_t>(m_heads * m_dim) * dtypeSize(m_dtype);
    m_buffer = kernels::DeviceBuffer(static_cast<std::size_t>(2 * m_limit) * rowBytes, like.device);
}

std::byte* QueryWindow::slot(std::int64_t index) const {
    const auto rowBytes = static_cast<std::size_t>(m_heads * m_dim) * dtypeSize(m_dtype);
    return static_cast<std::byte*>(m_buffer.data()) + static_cast<std::size_t>(index) * rowBytes;
}

void QueryWindow::append(const TensorView& queries, std::span<const std::int64_t> positions) {
    if (queries.rank != 3 || queries.shape[1] != static_cast<std::int64_t>(positions.size())) {
        throwInternal(fmt::format("{} query rows were announced as {}.", positions.size(),
                                  queries.describe()));
    }
    if (m_limit == 0 || positions.empty()) {
        return;
    }
    if (m_buffer.data() == nullptr) {
        allocate(queries);
    }
    if (queries.shape[0] != m_heads || queries.shape[2] != m_dim || queries.dtype != m_dtype) {
        throwInternal(fmt::format("A window of {} heads x {} {} was given {}.", m_heads, m_dim,
                                  dtypeName(m_dtype), queries.describe()));
    }
    const std::int64_t rows = queries.shape[1];
    for (std::int64_t row = std::max<std::int64_t>(0, rows - m_limit); row < rows; ++row) {
        appendRow(queries.slice(1, row, row + 1), positions[static_cast<std::size_t>(row)]);
    }
}

void QueryWindow::appendRow(const TensorView& row, std::int64_t position) {
    if (rows() == m_limit) { // the oldest row leaves
        m_positions.erase(m_positions.begin());
        ++m_begin;
    }
    if (m_begin + rows() == 2 * m_limit) { // at the end of the room: back to its start
        const auto bytes = static_cast<std::size_t>(rows() * m_heads * m_dim) * dtypeSize(m_dtype);
        kernels::copyBytes(slot(0), m_buffer.device(), slot(m_begin), m_buffer.device(), bytes);
        m_begin = 0;
    }
    kernels::copyToContiguous(row, slot(m_begin + rows()), m_buffer.device());
    m_positions.push_back(position);
}

TensorView QueryWindow::queries() const {
    TensorView view = TensorView::contiguous(m_buffer.data() == nullptr ? nullptr : slot(m_begin),
                                             m_dtype, {m_heads, rows(), m_dim}, m_buffer.device());
    view.strides = {m_dim, m_heads * m_dim, 1, 0}; // rows lie one behind the other
    return view;
}

QueryWindow QueryWindow::copy(std::int64_t rows) const {
    QueryWindow window(rows);
    window.append(queries(), m_positions);
    return window;
}

} // namespace ecokv::session
