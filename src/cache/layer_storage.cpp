// SPDX-License-Identifier: GPL-3.0-or-later
#include "cache/layer_storage.h"

#include "base/error.h"
#include "cache/kv_cache.h"
#include "kernels/backend_choice.h"
#include "kernels/compact_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace ecokv::cache {

LayerStorage::LayerStorage(const RowLayout& layout)
    : m_layout(layout), m_starts(static_cast<std::size_t>(layout.kvHeads), 0),
      m_positions(static_cast<std::size_t>(layout.kvHeads)) {}

std::int64_t LayerStorage::length(std::size_t head) const {
    return static_cast<std::int64_t>(m_positions[head].size());
}

bool LayerStorage::isUniform() const {
    return std::ranges::all_of(m_positions, [this](const auto& positions) {
        return positions.size() == m_positions.front().size();
    });
}

std::int64_t LayerStorage::longest() const {
    std::size_t rows = 0;
    for (const auto& positions : m_positions) {
        rows = std::max(rows, positions.size());
    }
    return static_cast<std::int64_t>(rows);
}

const kernels::DeviceBuffer& LayerStorage::buffer(Part part) const {
    return part == Part::Keys ? m_keys : m_values;
}

std::byte* LayerStorage::row(const kernels::DeviceBuffer& buffer, std::size_t head,
                             std::int64_t row) const {
    auto* base = static_cast<std::byte*>(buffer.data());
    return base == nullptr
               ? nullptr
               : base + static_cast<std::size_t>(m_starts[head] + row) * m_layout.rowBytes();
}

TensorView LayerStorage::head(Part part, std::size_t head) const {
    return TensorView::contiguous(row(buffer(part), head, 0), m_layout.dtype,
                                  {length(head), m_layout.headDim}, m_layout.device);
}

TensorView LayerStorage::all(Part part) const {
    const std::int64_t rows = length(0);
    TensorView view =
        TensorView::contiguous(buffer(part).data(), m_layout.dtype,
                               {m_layout.kvHeads, rows, m_layout.headDim}, m_layout.device);
    view.strides[0] = (rows + m_spare) * m_layout.headDim;
    return view;
}

std::vector<std::int64_t> LayerStorage::startsFor(std::int64_t spare) const {
    std::vector<std::int64_t> starts(m_positions.size() + 1, 0);
    for (std::size_t head = 0; head < m_positions.size(); ++head) {
        starts[head + 1] = starts[head] + length(head) + spare;
    }
    return starts;
}

kernels::DeviceBuffer LayerStorage::moved(const kernels::DeviceBuffer& from,
                                          const std::vector<std::int64_t>& fromStarts,
                                          const std::vector<std::int64_t>& toStarts,
                                          std::int64_t totalRows) const {
    const std::size_t rowBytes = m_layout.rowBytes();
    kernels::DeviceBuffer to(static_cast<std::size_t>(totalRows) * rowBytes, m_layout.device);
    for (std::size_t head = 0; head < m_positions.size(); ++head) {
        const std::size_t bytes = m_positions[head].size() * rowBytes;
        if (bytes == 0) {
            continue;
        }
        kernels::copyBytes(static_cast<std::byte*>(to.data()) +
                               static_cast<std::size_t>(toStarts[head]) * rowBytes,
                           m_layout.device,
                           static_cast<const std::byte*>(from.data()) +
                               static_cast<std::size_t>(fromStarts[head]) * rowBytes,
                           m_layout.device, bytes);
    }
    return to;
}

void LayerStorage::reallocate(std::int64_t spare) {
    std::vector<std::int64_t> starts = startsFor(spare);
    const std::int64_t totalRows = starts.back();
    starts.pop_back();
    // One part after the other: the old keys are freed before the values are copied.
    m_keys = moved(m_keys, m_starts, starts, totalRows);
    m_values = moved(m_values, m_starts, starts, totalRows);
    m_starts = std::move(starts);
    m_spare = spare;
}

void LayerStorage::append(const TensorView& keys, const TensorView& values,
                          std::span<const std::int64_t> positions) {
    const auto count = static_cast<std::int64_t>(positions.size());
    for (std::size_t head = 0; head < m_positions.size(); ++head) {
        const std::int64_t end = length(head);
        const auto index = static_cast<std::int64_t>(head);
        kernels::copyToContiguous(keys[index], row(m_keys, head, end), m_layout.device);
        kernels::copyToContiguous(values[index], row(m_values, head, end), m_layout.device);
        m_positions[head].insert(m_positions[head].end(), positions.begin(), positions.end());
    }
    m_spare -= count;
    m_seen += count;
    m_lastPosition = positions.back();
}

void LayerStorage::compact(const std::vector<std::vector<std::int32_t>>& kept, std::int64_t spare) {
    const kernels::Backend backend = kernels::backendFor(m_layout.device);
    bool moves = false;
    for (std::size_t head = 0; head < m_positions.size(); ++head) {
        const std::vector<std::int32_t>& rows = kept[head];
        if (rows.size() == m_positions[head].size()) {
            continue;
        }
        moves = true;
        for (const Part part : {Part::Keys, Part::Values}) {
            const kernels::Status status =
                kernels::compactRows(this->head(part, head), rows.data(),
                                     static_cast<std::int64_t>(rows.size()), backend);
            if (status != kernels::Status::Ok) {
                throwInternal(fmt::format("Compacting KV head {} failed: {}.", head,
                                          kernels::statusText(status)));
            }
        }
    }
    if (!moves && m_spare == spare) {
        return;
    }
    // The blocks still start where they did; only the new lengths decide where they go.
    for (std::size_t head = 0; head < m_positions.size(); ++head) {
        std::vector<std::int64_t> positions(kept[head].size());
        std::ranges::transform(kept[head], positions.begin(), [&](std::int32_t row) {
            return m_positions[head][static_cast<std::size_t>(row)];
        });
        m_positions[head] = std::move(positions);
    }
    reallocate(spare);
}

void LayerStorage::copyFrom(const LayerStorage& source, std::int64_t spare) {
    m_positions = source.m_positions;
    m_seen = source.m_seen;
    m_lastPosition = source.m_lastPosition;
    std::vector<std::int64_t> starts = startsFor(spare);
    const std::int64_t totalRows = starts.back();
    starts.pop_back();
    m_keys = {}; // freed before the new memory is asked for
    m_values = {};
    m_keys = moved(source.m_keys, source.m_starts, starts, totalRows);
    m_values = moved(source.m_values, source.m_starts, starts, totalRows);
    m_starts = std::move(starts);
    m_spare = spare;
}

void LayerStorage::restore(std::span<const HeadRows> heads, std::int64_t seen, std::int64_t spare) {
    for (std::size_t head = 0; head < heads.size(); ++head) {
        m_positions[head].assign(heads[head].positions.begin(), heads[head].positions.end());
    }
    m_seen = seen;
    m_lastPosition = seen - 1;
    m_starts = startsFor(spare);
    const auto bytes = static_cast<std::size_t>(m_starts.back()) * m_layout.rowBytes();
    m_starts.pop_back();
    m_spare = spare;
    m_keys = {}; // freed before the new memory is asked for
    m_values = {};
    m_keys = kernels::DeviceBuffer(bytes, m_layout.device);
    m_values = kernels::DeviceBuffer(bytes, m_layout.device);
    for (std::size_t head = 0; head < heads.size(); ++head) {
        if (!m_positions[head].empty()) {
            kernels::copyToContiguous(heads[head].keys, row(m_keys, head, 0), m_layout.device);
            kernels::copyToContiguous(heads[head].values, row(m_values, head, 0), m_layout.device);
        }
    }
}

std::size_t LayerStorage::usedBytes() const {
    const std::size_t rows =
        std::accumulate(m_positions.begin(), m_positions.end(), std::size_t{0},
                        [](std::size_t sum, const auto& head) { return sum + head.size(); });
    return 2 * rows * m_layout.rowBytes();
}

} // namespace ecokv::cache
