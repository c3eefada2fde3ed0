// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/key_statistics.h"

#include "kernels/argument_checks.h"
#include "kernels/backends.h"

namespace ecokv::kernels {

Status keyStatistics(const KeyStatisticsInput& input, const KeyStatisticsOutput& output,
                     Backend backend, Stream stream) {
    Status status = checkFloatTensor(input.keys, 3, backend);
    if (status == Status::Ok && input.rotation != nullptr) {
        status = checkRotation(*input.rotation, input.keys.shape[2]);
    }
    if (status != Status::Ok) {
        return status;
    }
    const bool someRows = input.keys.shape[0] * input.keys.shape[1] > 0;
    const bool rowOutputs = output.cosine && output.euclid && output.norm;
    if ((someRows && !rowOutputs) || (input.keys.shape[0] > 0 && !output.heads)) {
        return Status::BadShape;
    }
    switch (backend) {
    case Backend::Reference:
        return reference::keyStatistics(input, output);
    case Backend::Cpu:
        return cpu::keyStatistics(input, output);
    case Backend::Cuda:
        return cuda::keyStatistics(input, output, stream);
    }
    return Status::BadShape;
}

} // namespace ecokv::kernels
