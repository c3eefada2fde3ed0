// SPDX-License-Identifier: GPL-3.0-or-later
// The vectorised kernels land next; until then Backend::Cpu answers with the scalar reference.
#include "kernels/backends.h"

namespace ecokv::kernels::cpu {

Status keyStatistics(const KeyStatisticsInput& input, const KeyStatisticsOutput& output) {
    return reference::keyStatistics(input, output);
}
Status windowImportance(const WindowImportanceInput& input, float* importance) {
    return reference::windowImportance(input, importance);
}
Status compositeScore(const CompositeScoreInput& input, const CompositeScoreParams& params,
                      const CompositeScoreOutput& output) {
    return reference::compositeScore(input, params, output);
}
Status topK(const float* scores, std::int64_t count, std::int64_t k, std::int32_t* kept) {
    return reference::topK(scores, count, k, kept);
}
Status compactRows(const TensorView& rows, const std::int32_t* kept, std::int64_t count) {
    return reference::compactRows(rows, kept, count);
}
Status participationRatio(const TensorView& keys, double* ratio) {
    return reference::participationRatio(keys, ratio);
}

} // namespace ecokv::kernels::cpu
