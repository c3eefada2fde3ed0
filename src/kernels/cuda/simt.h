#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The few words kernels say to the machine: who am I, wait for the block, exchange within the warp.
// nvcc maps them to CUDA; a host compiler takes them from the SIMT shim of the tests (simt_host.h),
// so that the same kernel source runs without a GPU.

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)

#define ECOKV_GLOBAL static __global__ // registered with the CUDA runtime of its own binary
#define ECOKV_DEVICE __device__ __forceinline__
#define ECOKV_HOST_DEVICE __host__ __device__ inline
#define ECOKV_SHARED __shared__
#define ECOKV_UNROLL _Pragma("unroll") // so that arrays indexed by the loop stay in registers

namespace ecokv::kernels::simt {

ECOKV_DEVICE int thread() {
    return static_cast<int>(threadIdx.x);
}
ECOKV_DEVICE int threads() {
    return static_cast<int>(blockDim.x);
}
ECOKV_DEVICE int blockX() {
    return static_cast<int>(blockIdx.x);
}
ECOKV_DEVICE int blockY() {
    return static_cast<int>(blockIdx.y);
}
/// Barrier of the block; every thread must reach it.
ECOKV_DEVICE void sync() {
    __syncthreads();
}
/// The value of lane `lane ^ mask` of the same warp; every lane must take part.
ECOKV_DEVICE double exchange(double value, int mask) {
    return __shfl_xor_sync(0xffffffffU, value, mask);
}
ECOKV_DEVICE float exchange(float value, int mask) {
    return __shfl_xor_sync(0xffffffffU, value, mask);
}

/// Adds 1 to `counter`; returns what it was.
ECOKV_DEVICE int take(int* counter) {
    return atomicAdd(counter, 1);
}
/// Tells other blocks that everything this block did before its last barrier is done.
ECOKV_DEVICE void publish(int* flag) {
    __threadfence();
    atomicExch(flag, 1);
}
/// Waits for publish(); only for blocks that took their number earlier.
ECOKV_DEVICE void await(int* flag) {
    while (atomicAdd(flag, 0) == 0) {
        __nanosleep(20);
    }
    __threadfence();
}

} // namespace ecokv::kernels::simt

#else

#include "simt_host.h"

#define ECOKV_GLOBAL inline
#define ECOKV_DEVICE inline
#define ECOKV_HOST_DEVICE inline
#define ECOKV_UNROLL
#define ECOKV_SHARED static // blocks run one after the other on one host thread

#endif

namespace ecokv::kernels::simt {

inline constexpr int kWarp = 32;

ECOKV_DEVICE int lane() {
    return thread() % kWarp;
}
ECOKV_DEVICE int warp() {
    return thread() / kWarp;
}

} // namespace ecokv::kernels::simt
