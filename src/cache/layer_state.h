#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a layer without keys and values remembers, as tensors whose meaning only the model knows.
// One thread at a time.

#include "base/tensor_view.h"
#include "kernels/device_memory.h"

#include <cstddef>
#include <span>
#include <vector>

namespace ecokv::cache {

class LayerState {
public:
    /// Deep copies of `tensors` (any strides and device) on `device`. Tensors of the same shape and
    /// dtype as before are overwritten in place; those that already are this state stay.
    void set(std::span<const TensorView> tensors, Device device);
    std::span<const TensorView> tensors() const { return m_views; } ///< contiguous
    std::size_t bytes() const;

private:
    std::vector<kernels::DeviceBuffer> m_buffers;
    std::vector<TensorView> m_views; ///< of m_buffers, one each
};

} // namespace ecokv::cache
