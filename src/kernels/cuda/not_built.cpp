// SPDX-License-Identifier: GPL-3.0-or-later
// Stands in for the CUDA kernels in a build without them.
#include "kernels/backends.h"

#include "base/error.h"

namespace ecokv::kernels::cuda {

namespace {

constexpr const char* kAdvice =
    "Configure with -DECOKV_CUDA=ON and a CUDA compiler, or run with --device cpu.";

[[noreturn]] void refuse() {
    throwBadInput("A GPU was asked for, but this build has no CUDA kernels.", kAdvice);
}

} // namespace

Status keyStatistics(const KeyStatisticsInput&, const KeyStatisticsOutput&, Stream) {
    return Status::CudaNotBuilt;
}

Status windowImportance(const WindowImportanceInput&, float*, Stream) {
    return Status::CudaNotBuilt;
}

Status compositeScore(const CompositeScoreInput&, const CompositeScoreParams&,
                      const CompositeScoreOutput&, Stream) {
    return Status::CudaNotBuilt;
}

Status topK(const float*, std::int64_t, std::int64_t, std::int32_t*) {
    return Status::CudaNotBuilt;
}

Status compactHeads(std::span<const RowsToCompact>, Stream) {
    return Status::CudaNotBuilt;
}

CudaReport report() {
    CudaReport report;
    report.problem = "this build has no CUDA kernels";
    return report;
}

std::string lastError() {
    return {};
}

void* allocate(std::size_t, int) {
    refuse();
}

void release(void*, int) noexcept {}

void copy(void*, Device, const void*, Device, std::size_t) {
    refuse();
}

} // namespace ecokv::kernels::cuda
