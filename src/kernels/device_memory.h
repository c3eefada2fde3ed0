#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Memory on the host or on a GPU behind one owner, and copies between them. The only place that
// allocates device memory; a build without CUDA refuses Device::Cuda with a sentence.

#include "base/tensor_view.h"

#include <cstddef>
#include <string>

namespace ecokv::kernels {

/// What was built, what was found: shown by `ecokv devices`, start-up errors and traces.
struct CudaReport {
    bool built = false;        ///< kernels were compiled for CUDA
    std::string architectures; ///< "sm_80, sm_90"
    int deviceCount = 0;
    std::string deviceName; ///< of device 0, "" if none
    std::string problem;    ///< why no device can be used, "" if one can
};

CudaReport cudaReport();
/// Text of the last CUDA failure on this thread, "" if none.
std::string lastCudaError();

/// Owning, movable, zero-size allowed. Aligned to 64 bytes. GPU memory belongs to the default
/// stream: it is given back after the work queued there.
class DeviceBuffer {
public:
    DeviceBuffer() = default;
    DeviceBuffer(std::size_t bytes, Device device); ///< throws Error{BadInput} when out of memory
    ~DeviceBuffer();
    DeviceBuffer(DeviceBuffer&& other) noexcept;
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;

    void* data() const { return m_data; }
    std::size_t bytes() const { return m_bytes; }
    Device device() const { return m_device; }

private:
    void* m_data = nullptr;
    std::size_t m_bytes = 0;
    Device m_device;
};

/// Copies `bytes` between any two devices, in order with the work of the GPU's default stream; when
/// it returns, `from` may be overwritten and memory of the host holds the bytes.
void copyBytes(void* to, Device toDevice, const void* from, Device fromDevice, std::size_t bytes);
/// Copies a strided view into contiguous memory of the same dtype on `toDevice`.
void copyToContiguous(const TensorView& from, void* to, Device toDevice);

} // namespace ecokv::kernels
