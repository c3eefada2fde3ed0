// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/window_importance.h"

#include "kernels/argument_checks.h"
#include "kernels/backends.h"

#include <cmath>

namespace ecokv::kernels {

namespace {

Status checkInput(const WindowImportanceInput& input, const float* importance, Backend backend) {
    for (const TensorView* tensor : {&input.queries, &input.keys}) {
        const Status status = checkFloatTensor(*tensor, 3, backend);
        if (status != Status::Ok) {
            return status;
        }
    }
    const std::int64_t heads = input.queries.shape[0];
    const std::int64_t kvHeads = input.keys.shape[0];
    const std::int64_t tokens = input.keys.shape[1];
    const bool grouped = kvHeads > 0 ? heads % kvHeads == 0 : heads == 0;
    const bool positioned = (input.queries.shape[1] == 0 || input.queryPositions) &&
                            (tokens == 0 || (input.keyPositions && importance));
    const bool scaled = std::isfinite(input.scale) && input.scale >= 0.0F;
    if (!grouped || !positioned || !scaled || input.queries.shape[2] != input.keys.shape[2]) {
        return Status::BadShape;
    }
    return Status::Ok;
}

} // namespace

Status windowImportance(const WindowImportanceInput& input, float* importance, Backend backend,
                        Stream stream) {
    const Status status = checkInput(input, importance, backend);
    if (status != Status::Ok) {
        return status;
    }
    WindowImportanceInput scaled = input;
    if (scaled.scale == 0.0F) {
        const std::int64_t dim = input.keys.shape[2];
        scaled.scale = dim > 0 ? 1.0F / std::sqrt(static_cast<float>(dim)) : 1.0F;
    }
    switch (backend) {
    case Backend::Reference:
        return reference::windowImportance(scaled, importance);
    case Backend::Cpu:
        return cpu::windowImportance(scaled, importance);
    case Backend::Cuda:
        return cuda::windowImportance(scaled, importance, stream);
    }
    return Status::BadShape;
}

} // namespace ecokv::kernels
