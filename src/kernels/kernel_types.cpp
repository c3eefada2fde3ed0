// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/kernel_types.h"

namespace ecokv::kernels {

const char* statusText(Status status) {
    switch (status) {
    case Status::Ok:
        return "done";
    case Status::BadShape:
        return "the shapes of the operands do not fit together";
    case Status::UnsupportedDType:
        return "the dtype is none of float32, bfloat16, float16";
    case Status::DeviceMismatch:
        return "an operand lives on another device than the backend runs on";
    case Status::CudaNotBuilt:
        return "this build has no CUDA kernels";
    case Status::CudaFailed:
        return "the CUDA driver or a kernel launch failed";
    }
    return "unknown status";
}

} // namespace ecokv::kernels
