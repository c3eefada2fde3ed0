// SPDX-License-Identifier: GPL-3.0-or-later
// The launchers of Backend::Cuda: the steps of each operation on a CudaRuntime. Top-k works on host
// scores and uses the CPU kernel.
#include "kernels/backends.h"
#include "kernels/cuda/cuda_runtime.cuh"

namespace ecokv::kernels::cuda {

namespace {

/// The GPU that `memory` lies on.
int deviceOf(const void* memory) {
    cudaPointerAttributes attributes{};
    return failed(cudaPointerGetAttributes(&attributes, memory)) ? 0 : attributes.device;
}

} // namespace

Status keyStatistics(const KeyStatisticsInput& input, const KeyStatisticsOutput& output,
                     Stream stream) {
    CudaRuntime runtime(input.keys.device.index, stream);
    return keyStatisticsSteps(runtime, input, output);
}

Status windowImportance(const WindowImportanceInput& input, float* importance, Stream stream) {
    CudaRuntime runtime(input.keys.device.index, stream);
    return windowImportanceSteps(runtime, input, importance);
}

Status compositeScore(const CompositeScoreInput& input, const CompositeScoreParams& params,
                      const CompositeScoreOutput& output, Stream stream) {
    CudaRuntime runtime(deviceOf(input.attention), stream);
    return compositeScoreSteps(runtime, input, params, output);
}

Status compactHeads(std::span<const RowsToCompact> heads, Stream stream) {
    CudaRuntime runtime(heads.empty() ? 0 : heads.front().rows.device.index, stream);
    return compactHeadsSteps(runtime, heads);
}

Status topK(const float* scores, std::int64_t count, std::int64_t k, std::int32_t* kept) {
    return cpu::topK(scores, count, k, kept);
}

} // namespace ecokv::kernels::cuda
