// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/device_memory.h"

#include "base/error.h"
#include "kernels/backends.h"

#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>

namespace ecokv::kernels {

namespace {

constexpr std::align_val_t kAlignment{64};

/// From here on memory is mapped for itself: malloc keeps freed blocks of up to 32 MB for later, so
/// that an evicted layer would stay with the process.
constexpr std::size_t kMappedFrom = std::size_t{1} << 20;

void* mapHost(std::size_t bytes) {
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return data == MAP_FAILED ? nullptr : data;
}

void* allocateHost(std::size_t bytes) {
    void* data =
        bytes >= kMappedFrom ? mapHost(bytes) : ::operator new(bytes, kAlignment, std::nothrow);
    if (data == nullptr) {
        throwBadInput(fmt::format("No memory for {} bytes on the host.", bytes),
                      "Use a shorter prompt or a smaller model.");
    }
    return data;
}

void releaseMemory(void* data, std::size_t bytes, Device device) noexcept {
    if (data == nullptr) {
        return;
    }
    if (device.kind == DeviceKind::Cuda) {
        cuda::release(data, device.index);
    } else if (bytes >= kMappedFrom) {
        ::munmap(data, bytes);
    } else {
        ::operator delete(data, kAlignment);
    }
}

/// The last dimensions that lie densely in memory, as one run: elements per run.
std::int64_t contiguousRun(const TensorView& view, std::size_t& outerRank) {
    std::int64_t run = 1;
    outerRank = view.rank;
    while (outerRank > 0) {
        const std::size_t dim = outerRank - 1;
        if (view.shape[dim] != 1 && view.strides[dim] != run) {
            break;
        }
        run *= view.shape[dim];
        --outerRank;
    }
    return run;
}

} // namespace

CudaReport cudaReport() {
    return cuda::report();
}

std::string lastCudaError() {
    return cuda::lastError();
}

DeviceBuffer::DeviceBuffer(std::size_t bytes, Device device) : m_bytes(bytes), m_device(device) {
    if (bytes > 0) {
        m_data = device.kind == DeviceKind::Cuda ? cuda::allocate(bytes, device.index)
                                                 : allocateHost(bytes);
    }
}

DeviceBuffer::~DeviceBuffer() {
    releaseMemory(m_data, m_bytes, m_device);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : m_data(std::exchange(other.m_data, nullptr)), m_bytes(std::exchange(other.m_bytes, 0)),
      m_device(other.m_device) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
    if (this != &other) {
        releaseMemory(m_data, m_bytes, m_device);
        m_data = std::exchange(other.m_data, nullptr);
        m_bytes = std::exchange(other.m_bytes, 0);
        m_device = other.m_device;
    }
    return *this;
}

void copyBytes(void* to, Device toDevice, const void* from, Device fromDevice, std::size_t bytes) {
    if (bytes == 0) {
        return;
    }
    if (toDevice.kind == DeviceKind::Cpu && fromDevice.kind == DeviceKind::Cpu) {
        std::memcpy(to, from, bytes);
    } else {
        cuda::copy(to, toDevice, from, fromDevice, bytes);
    }
}

void copyToContiguous(const TensorView& from, void* to, Device toDevice) {
    std::size_t outerRank = 0;
    const std::int64_t run = contiguousRun(from, outerRank);
    const std::int64_t total = from.numel();
    const std::size_t size = dtypeSize(from.dtype);
    const auto runBytes = static_cast<std::size_t>(run) * size;
    const auto* source = static_cast<const std::byte*>(from.data);
    auto* target = static_cast<std::byte*>(to);
    std::array<std::int64_t, TensorView::kMaxRank> index{};
    for (std::int64_t done = 0; done < total; done += run) {
        std::int64_t offset = 0;
        for (std::size_t dim = 0; dim < outerRank; ++dim) {
            offset += index[dim] * from.strides[dim];
        }
        copyBytes(target, toDevice, source + offset * static_cast<std::int64_t>(size), from.device,
                  runBytes);
        target += runBytes;
        for (std::size_t dim = outerRank; dim-- > 0;) {
            if (++index[dim] < from.shape[dim]) {
                break;
            }
            index[dim] = 0;
        }
    }
}

} // namespace ecokv::kernels
