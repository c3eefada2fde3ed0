// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/participation_ratio.h"

#include "kernels/argument_checks.h"
#include "kernels/backends.h"

namespace ecokv::kernels {

Status participationRatio(const TensorView& keys, double* ratio, Backend backend) {
    // The keys are read on the host whatever the backend is.
    const Status status = checkFloatTensor(keys, 3, Backend::Cpu);
    if (status != Status::Ok) {
        return status;
    }
    if (keys.shape[0] > 0 && ratio == nullptr) {
        return Status::BadShape;
    }
    switch (backend) {
    case Backend::Reference:
        return reference::participationRatio(keys, ratio);
    case Backend::Cpu:
        return cpu::participationRatio(keys, ratio);
    case Backend::Cuda:
        return cuda::participationRatio(keys, ratio);
    }
    return Status::BadShape;
}

} // namespace ecokv::kernels
