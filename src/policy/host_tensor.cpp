// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/host_tensor.h"

namespace ecokv::policy {

HostTensor::HostTensor(const TensorView& tensor) : m_view(tensor) {
    if (tensor.device.kind == DeviceKind::Cpu) {
        return;
    }
    m_buffer = kernels::DeviceBuffer(
        static_cast<std::size_t>(tensor.numel()) * dtypeSize(tensor.dtype), Device{});
    kernels::copyToContiguous(tensor, m_buffer.data(), Device{});
    m_view = TensorView::contiguous(m_buffer.data(), tensor.dtype,
                                    {tensor.shape[0], tensor.shape[1], tensor.shape[2]});
}

} // namespace ecokv::policy
