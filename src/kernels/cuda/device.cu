// SPDX-License-Identifier: GPL-3.0-or-later
// What the CUDA runtime knows of this machine, and memory of its GPUs.
#include "base/error.h"
#include "kernels/backends.h"
#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/device_pool.h"

#include <string>

namespace ecokv::kernels::cuda {

namespace {

thread_local std::string lastFailure;

[[noreturn]] void refuse(const std::string& what, const std::string& advice) {
    throwBadInput(what + " (" + lastFailure + ").", advice);
}

cudaMemcpyKind direction(Device to, Device from) {
    if (to.kind == DeviceKind::Cpu) {
        return cudaMemcpyDeviceToHost;
    }
    return from.kind == DeviceKind::Cpu ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice;
}

} // namespace

bool failed(cudaError_t result) {
    if (result == cudaSuccess) {
        return false;
    }
    lastFailure = std::string(cudaGetErrorName(result)) + ": " + cudaGetErrorString(result);
    cudaGetLastError(); // told here once; it must not fail the next launch as well
    return true;
}

CudaReport report() {
    CudaReport report;
    report.built = true;
    report.architectures = ECOKV_CUDA_ARCHITECTURES; // "sm_80,sm_90", from the build
    if (failed(cudaGetDeviceCount(&report.deviceCount))) {
        report.deviceCount = 0;
        report.problem = lastFailure;
        return report;
    }
    if (report.deviceCount == 0) {
        report.problem = "the driver lists no GPU";
        return report;
    }
    cudaDeviceProp properties{};
    if (failed(cudaGetDeviceProperties(&properties, 0))) {
        report.problem = lastFailure;
        return report;
    }
    report.deviceName = properties.name;
    if (properties.major < 8) {
        report.problem = report.deviceName + " is older than the sm_80 the kernels are built for";
    }
    return report;
}

std::string lastError() {
    return lastFailure;
}

void* allocate(std::size_t bytes, int device) {
    void* memory = nullptr;
    if (failed(cudaSetDevice(device)) || failed(poolAllocate(&memory, bytes, nullptr))) {
        refuse("No memory for " + std::to_string(bytes) + " bytes on GPU " + std::to_string(device),
               "Use a shorter prompt, a smaller model, or --device cpu.");
    }
    return memory;
}

void release(void* data, int device) noexcept {
    if (cudaSetDevice(device) == cudaSuccess) {
        poolRelease(data, nullptr); // after the work queued so far, which may use it
    }
}

void copy(void* to, Device toDevice, const void* from, Device fromDevice, std::size_t bytes) {
    const int device = toDevice.kind == DeviceKind::Cuda ? toDevice.index : fromDevice.index;
    if (failed(cudaSetDevice(device)) ||
        failed(cudaMemcpy(to, from, bytes, direction(toDevice, fromDevice)))) {
        refuse("A copy of " + std::to_string(bytes) + " bytes to or from the GPU failed",
               "Run again with --device cpu and report this if it comes back.");
    }
}

} // namespace ecokv::kernels::cuda
