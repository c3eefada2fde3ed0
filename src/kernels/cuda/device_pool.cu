// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/device_pool.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace ecokv::kernels::cuda {

namespace {

/// What the pool keeps for later calls, so that scratch memory is not mapped anew for each layer.
/// LibTorch cannot use it meanwhile.
constexpr std::uint64_t kKeptBytes = std::uint64_t{256} << 20;

enum class Support : int { Unknown, Pool, None };

Support askDevice(int device) {
    int supported = 0;
    cudaMemPool_t pool{};
    if (cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device) !=
            cudaSuccess ||
        supported == 0 || cudaDeviceGetDefaultMemPool(&pool, device) != cudaSuccess) {
        cudaGetLastError();
        return Support::None;
    }
    std::uint64_t kept = kKeptBytes;
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
    return Support::Pool;
}

bool currentDeviceHasPool() {
    static std::array<std::atomic<Support>, 64> known{}; // Unknown
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess || device >= static_cast<int>(known.size())) {
        return false;
    }
    auto& support = known[static_cast<std::size_t>(device)];
    if (support == Support::Unknown) {
        support = askDevice(device);
    }
    return support == Support::Pool;
}

} // namespace

cudaError_t poolAllocate(void** memory, std::size_t bytes, cudaStream_t stream) {
    return currentDeviceHasPool() ? cudaMallocAsync(memory, bytes, stream)
                                  : cudaMalloc(memory, bytes);
}

cudaError_t poolRelease(void* memory, cudaStream_t stream) {
    return currentDeviceHasPool() ? cudaFreeAsync(memory, stream) : cudaFree(memory);
}

} // namespace ecokv::kernels::cuda
