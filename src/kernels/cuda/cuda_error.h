#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Failures of the CUDA runtime: remembered per thread, so that a Status can be explained later.

#include <cuda_runtime_api.h>

namespace ecokv::kernels::cuda {

/// True if `result` is a failure, whose text lastError() of this thread then gives.
bool failed(cudaError_t result);

} // namespace ecokv::kernels::cuda
