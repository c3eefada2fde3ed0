// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/composite_score.h"

#include "kernels/backends.h"

namespace ecokv::kernels {

namespace {

bool isComplete(const CompositeScoreInput& input, const CompositeScoreParams& params,
                const CompositeScoreOutput& output) {
    const bool inputs = input.attention && input.cosine && input.euclid && input.redundancy &&
                        input.meanSquaredNorm && (!params.addValueNorm || input.valueNorm);
    const bool outputs = output.importance && output.diversityCosine && output.diversityEuclid &&
                         output.diversity && output.score && output.constant;
    return inputs && outputs;
}

} // namespace

Status compositeScore(const CompositeScoreInput& input, const CompositeScoreParams& params,
                      const CompositeScoreOutput& output, Backend backend, Stream stream) {
    // An even kernel has no middle token (field case F029).
    const bool oddKernel = params.poolKernel >= 1 && params.poolKernel % 2 == 1;
    const bool sizes = input.kvHeads >= 0 && input.tokens >= 0 && input.rowStride >= input.tokens;
    if (!oddKernel || !sizes) {
        return Status::BadShape;
    }
    if (input.kvHeads > 0 && input.tokens > 0 && !isComplete(input, params, output)) {
        return Status::BadShape;
    }
    switch (backend) {
    case Backend::Reference:
        return reference::compositeScore(input, params, output);
    case Backend::Cpu:
        return cpu::compositeScore(input, params, output);
    case Backend::Cuda:
        return cuda::compositeScore(input, params, output, stream);
    }
    return Status::BadShape;
}

} // namespace ecokv::kernels
