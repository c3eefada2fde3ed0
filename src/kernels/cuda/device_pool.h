#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Stream-ordered device memory: cudaMalloc takes as long as a kernel and waits for the GPU, the
// driver's pool does neither. Any thread.

#include <cuda_runtime_api.h>

#include <cstddef>

namespace ecokv::kernels::cuda {

/// Memory of the current device, usable by work of `stream` queued from now on.
cudaError_t poolAllocate(void** memory, std::size_t bytes, cudaStream_t stream);
/// Gives `memory` of the current device back once the work queued on `stream` is done.
cudaError_t poolRelease(void* memory, cudaStream_t stream);

} // namespace ecokv::kernels::cuda
