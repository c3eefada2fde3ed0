#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Keys and values of one layer: one buffer for the keys and one for the values, cut into one block
// of rows per KV head. Every block has the same spare room, so heads of equal length are equally
// spaced and form a [kvHead, token, dim] view. One thread at a time.

#include "base/ids.h"
#include "base/tensor_view.h"
#include "kernels/device_memory.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ecokv::cache {

struct HeadRows; // kv_cache.h

/// Which of the two buffers of a layer is meant.
enum class Part : std::uint8_t { Keys, Values };

/// Sizes and place of the rows; the same for every layer of a cache.
struct RowLayout {
    std::int32_t kvHeads = 0;
    std::int32_t headDim = 0;
    DType dtype = DType::F32;
    Device device;

    std::size_t rowBytes() const { return static_cast<std::size_t>(headDim) * dtypeSize(dtype); }
};

class LayerStorage {
public:
    explicit LayerStorage(const RowLayout& layout);

    std::int64_t length(std::size_t head) const;
    std::span<const std::int64_t> positions(std::size_t head) const { return m_positions[head]; }
    bool isUniform() const;
    std::int64_t longest() const;
    /// Rows every head can still take without new memory.
    std::int64_t spare() const { return m_spare; }
    std::int64_t seen() const { return m_seen; }
    /// True position of the last appended token, evicted or not; -1 before the first.
    std::int64_t lastPosition() const { return m_lastPosition; }

    TensorView head(Part part, std::size_t head) const; ///< [token, dim]
    TensorView all(Part part) const;                    ///< [kvHead, token, dim], uniform only

    /// Moves the rows into memory with exactly `spare` free rows per head.
    void reallocate(std::int64_t spare);
    /// Appends to every head; needs spare() >= positions.size(). keys, values [kvHead, n, dim].
    void append(const TensorView& keys, const TensorView& values,
                std::span<const std::int64_t> positions);
    /// Keeps rows kept[head], strictly ascending, and reallocates to `spare` free rows per head.
    void compact(const std::vector<std::vector<std::int32_t>>& kept, std::int64_t spare);
    void copyFrom(const LayerStorage& source, std::int64_t spare);
    /// Holds the rows of `heads` [kvHead] and nothing else, as if `seen` tokens had been appended.
    void restore(std::span<const HeadRows> heads, std::int64_t seen, std::int64_t spare);

    std::size_t bytes() const { return m_keys.bytes() + m_values.bytes(); }
    std::size_t usedBytes() const;

private:
    const kernels::DeviceBuffer& buffer(Part part) const;
    std::byte* row(const kernels::DeviceBuffer& buffer, std::size_t head, std::int64_t row) const;
    kernels::DeviceBuffer moved(const kernels::DeviceBuffer& from,
                                const std::vector<std::int64_t>& fromStarts,
                                const std::vector<std::int64_t>& toStarts,
                                std::int64_t totalRows) const;
    std::vector<std::int64_t> startsFor(std::int64_t spare) const;

    RowLayout m_layout;
    kernels::DeviceBuffer m_keys, m_values;
    std::vector<std::int64_t> m_starts;                 ///< [kvHead] first row of the head's block
    std::vector<std::vector<std::int64_t>> m_positions; ///< [kvHead][row] true positions
    std::int64_t m_spare = 0;
    std::int64_t m_seen = 0;
    std::int64_t m_lastPosition = -1;
};

} // namespace ecokv::cache
