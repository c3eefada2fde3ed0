#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: one implementation of every launcher per backend, same signatures without the Backend.
// Arguments were checked by the public launcher. Without a CUDA compiler the functions of `cuda`
// come from cuda/not_built.cpp, which the build swaps for the .cu files; nothing else changes.

#include "kernels/compact_rows.h"
#include "kernels/composite_score.h"
#include "kernels/device_memory.h"
#include "kernels/key_moments.h"
#include "kernels/key_statistics.h"
#include "kernels/top_k.h"
#include "kernels/window_importance.h"

namespace ecokv::kernels {

namespace reference {
Status keyStatistics(const KeyStatisticsInput& input, const KeyStatisticsOutput& output);
Status windowImportance(const WindowImportanceInput& input, float* importance);
Status compositeScore(const CompositeScoreInput& input, const CompositeScoreParams& params,
                      const CompositeScoreOutput& output);
Status topK(const float* scores, std::int64_t count, std::int64_t k, std::int32_t* kept);
Status compactRows(const TensorView& rows, const std::int32_t* kept, std::int64_t count);
/// `output` is sized and zeroed.
Status keyMoments(const TensorView& keys, const KeyMomentsPlan& plan, KeyMomentsOutput& output);
} // namespace reference

namespace cpu {
Status keyStatistics(const KeyStatisticsInput& input, const KeyStatisticsOutput& output);
Status windowImportance(const WindowImportanceInput& input, float* importance);
Status compositeScore(const CompositeScoreInput& input, const CompositeScoreParams& params,
                      const CompositeScoreOutput& output);
Status topK(const float* scores, std::int64_t count, std::int64_t k, std::int32_t* kept);
Status compactRows(const TensorView& rows, const std::int32_t* kept, std::int64_t count);
/// `output` is sized and zeroed.
Status keyMoments(const TensorView& keys, const KeyMomentsPlan& plan, KeyMomentsOutput& output);
} // namespace cpu

namespace cuda {
Status keyStatistics(const KeyStatisticsInput& input, const KeyStatisticsOutput& output,
                     Stream stream);
Status windowImportance(const WindowImportanceInput& input, float* importance, Stream stream);
Status compositeScore(const CompositeScoreInput& input, const CompositeScoreParams& params,
                      const CompositeScoreOutput& output, Stream stream);
Status topK(const float* scores, std::int64_t count, std::int64_t k, std::int32_t* kept);
Status compactHeads(std::span<const RowsToCompact> heads, Stream stream);

CudaReport report();
std::string lastError();
/// Throws Error{BadInput} when the device is missing or out of memory.
void* allocate(std::size_t bytes, int device);
void release(void* data, int device) noexcept;
/// At least one side is a GPU; see copyBytes. Throws Error{BadInput} on failure.
void copy(void* to, Device toDevice, const void* from, Device fromDevice, std::size_t bytes);
} // namespace cuda

} // namespace ecokv::kernels
