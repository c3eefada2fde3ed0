#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Host access to a tensor of any device: the given memory where it already is on the host, else a
// contiguous copy that this object owns.

#include "kernels/device_memory.h"
#include "kernels/kernel_types.h"

namespace ecokv::policy {

class HostTensor {
public:
    /// `tensor` [head, row, dim]; its memory must outlive this object.
    explicit HostTensor(const TensorView& tensor);

    const TensorView& view() const { return m_view; }

private:
    kernels::DeviceBuffer m_buffer;
    TensorView m_view;
};

} // namespace ecokv::policy
