// SPDX-License-Identifier: GPL-3.0-or-later
// The launchers of Backend::Cuda: the steps of each operation on a CudaRuntime. Top-k works on host
// scores and the participation ratio is measured once per trace, so both use the CPU kernels.
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

Status participationRatio(const TensorView& keys, double* ratio) {
    const auto bytes = static_cast<std::size_t>(keys.numel()) * dtypeSize(keys.dtype);
    const DeviceBuffer host(bytes, Device{});
    copyToContiguous(keys, host.data(), Device{});
    return cpu::participationRatio(
        TensorView::contiguous(host.data(), keys.dtype,
                               {keys.shape[0], keys.shape[1], keys.shape[2]}),
        ratio);
}

} // namespace ecokv::kernels::cuda
