// SPDX-License-Identifier: GPL-3.0-or-later
#include "cache/layer_state.h"

#include <algorithm>
#include <utility>

namespace ecokv::cache {

namespace {

bool isAlike(const TensorView& a, const TensorView& b) {
    const auto rank = static_cast<std::ptrdiff_t>(a.rank);
    return a.dtype == b.dtype && a.rank == b.rank &&
           std::equal(a.shape.begin(), a.shape.begin() + rank, b.shape.begin());
}

TensorView rowMajor(const TensorView& shape, void* data, Device device) {
    TensorView view = shape;
    view.data = data;
    view.device = device;
    view.strides = {};
    std::int64_t stride = 1;
    for (std::size_t dim = view.rank; dim-- > 0;) {
        view.strides[dim] = stride;
        stride *= view.shape[dim];
    }
    return view;
}

} // namespace

void LayerState::set(std::span<const TensorView> tensors, Device device) {
    if (!std::ranges::equal(tensors, m_views, isAlike)) {
        std::vector<kernels::DeviceBuffer> buffers;
        std::vector<TensorView> views;
        for (const TensorView& tensor : tensors) {
            const auto bytes = static_cast<std::size_t>(tensor.numel()) * dtypeSize(tensor.dtype);
            buffers.emplace_back(bytes, device);
            views.push_back(rowMajor(tensor, buffers.back().data(), device));
            kernels::copyToContiguous(tensor, buffers.back().data(), device);
        }
        m_buffers = std::move(buffers); // only now: `tensors` may be views of the old ones
        m_views = std::move(views);
        return;
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].data != m_views[i].data) {
            kernels::copyToContiguous(tensors[i], m_views[i].data, device);
        }
    }
}

std::size_t LayerState::bytes() const {
    std::size_t total = 0;
    for (const kernels::DeviceBuffer& buffer : m_buffers) {
        total += buffer.bytes();
    }
    return total;
}

} // namespace ecokv::cache
