#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The launches of compositeScore; see steps.h.

#include "kernels/cuda/composite_score_kernels.h"
#include "kernels/cuda/step_tools.h"

#include <vector>

namespace ecokv::kernels::cuda {

template <class Runtime>
Status compositeScoreSteps(Runtime& runtime, const CompositeScoreInput& input,
                           const CompositeScoreParams& params, const CompositeScoreOutput& output) {
    const std::int64_t kvHeads = input.kvHeads;
    if (kvHeads == 0 || input.tokens == 0) {
        return Status::Ok;
    }
    std::vector<double> heads;
    for (std::int64_t head = 0; head < kvHeads; ++head) {
        heads.push_back(input.redundancy[head]);
        heads.push_back(input.meanSquaredNorm[head]);
    }
    auto* constant = runtime.template scratch<std::uint8_t>(kvHeads * 3);
    const std::int64_t blocks = blocksFor(input.tokens, kScoresPerBlock);
    const ScoreArguments arguments{
        input.attention,
        input.cosine,
        input.euclid,
        params.addValueNorm ? input.valueNorm : nullptr,
        uploaded(runtime, heads.data(), 2 * kvHeads),
        output.importance,
        output.diversityCosine,
        output.diversityEuclid,
        output.diversity,
        output.score,
        constant,
        runtime.template scratch<double>(kvHeads * blocks * kRangeColumns),
        runtime.template scratch<double>(kvHeads * blocks * kSumColumns),
        input.tokens,
        input.rowStride,
        static_cast<int>(blocks),
        params.poolKernel,
        params.poolMode,
        static_cast<double>(params.alpha)};
    const Grid grid{blocks, kvHeads};
    runtime.launch(scoreRanges, grid, kScoreThreads, arguments);
    runtime.launch(scoreSums, grid, kScoreThreads, arguments);
    runtime.launch(writeScores, grid, kScoreThreads, arguments);
    runtime.download(output.constant, constant, kvHeads * 3);
    return runtime.status();
}

} // namespace ecokv::kernels::cuda
