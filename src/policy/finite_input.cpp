// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/finite_input.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

constexpr std::uint16_t kBf16Exponent = 0x7f80;
constexpr std::uint16_t kF16Exponent = 0x7c00;

/// `row` [dim] with unit stride on the host.
bool isFiniteRow(const TensorView& row) {
    for (std::int64_t i = 0; i < row.shape[0]; ++i) {
        bool finite = true;
        if (row.dtype == DType::F32) {
            finite = std::isfinite(row.as<float>()[i]);
        } else {
            const std::uint16_t exponent = row.dtype == DType::BF16 ? kBf16Exponent : kF16Exponent;
            finite = (row.as<std::uint16_t>()[i] & exponent) != exponent;
        }
        if (!finite) {
            return false;
        }
    }
    return true;
}

TensorView contiguousCopy(const TensorView& from, kernels::DeviceBuffer& owner) {
    owner = kernels::DeviceBuffer(static_cast<std::size_t>(from.numel()) * dtypeSize(from.dtype),
                                  Device{});
    kernels::copyToContiguous(from, owner.data(), Device{});
    return TensorView::contiguous(owner.data(), from.dtype,
                                  {from.shape[0], from.shape[1], from.shape[2]});
}

} // namespace

kernels::Backend hostBackend(kernels::Backend backend) {
    return backend == kernels::Backend::Cuda ? kernels::Backend::Cpu : backend;
}

HostTensor::HostTensor(const TensorView& tensor) : m_view(tensor) {
    if (tensor.device.kind != DeviceKind::Cpu) {
        m_view = contiguousCopy(tensor, m_buffer);
    }
}

bool holdsOnlyFinite(const TensorView& rows) {
    const HostTensor host(rows);
    for (std::int64_t head = 0; head < rows.shape[0]; ++head) {
        for (std::int64_t row = 0; row < rows.shape[1]; ++row) {
            if (!isFiniteRow(host.view()[head][row])) {
                return false;
            }
        }
    }
    return true;
}

FiniteInput::FiniteInput(const LayerInput& input) : m_input(input) {
    m_buffers.reserve(3);
    m_input.keys = repaired(input.keys, "keys");
    m_input.windowQueries = repaired(input.windowQueries, "query rows");
    if (input.values.data != nullptr) {
        m_input.values = repaired(input.values, "values");
    }
}

TensorView FiniteInput::repaired(const TensorView& rows, const char* what) {
    const TensorView copy = contiguousCopy(rows, m_buffers.emplace_back());
    for (std::int64_t head = 0; head < copy.shape[0]; ++head) {
        std::int64_t damaged = 0;
        for (std::int64_t row = 0; row < copy.shape[1]; ++row) {
            const TensorView numbers = copy[head][row];
            if (!isFiniteRow(numbers)) {
                std::memset(numbers.data, 0,
                            static_cast<std::size_t>(numbers.shape[0]) * dtypeSize(copy.dtype));
                ++damaged;
            }
        }
        if (damaged > 0) {
            m_notes.push_back(fmt::format("layer {} head {}: {} {} hold NaN or Inf, counted as "
                                          "zero",
                                          m_input.layer.value, head, damaged, what));
        }
    }
    return copy;
}

} // namespace ecokv::policy
