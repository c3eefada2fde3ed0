// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/matrix_vector.h"

#include "kernels/argument_checks.h"
#include "kernels/cpu/matrix_vector_cpu.h"

namespace ecokv::kernels {

Status matrixVector(const MatrixVectorInput& input, const TensorView& output) {
    const TensorView& weight = input.weight;
    Status status = checkFloatTensor(weight, 2, Backend::Cpu);
    if (status == Status::Ok && weight.dtype == DType::F16) {
        status = Status::UnsupportedDType;
    }
    const auto check = [&](const TensorView& vector, std::int64_t size) {
        if (status == Status::Ok) {
            status = checkFloatTensor(vector, 1, Backend::Cpu);
        }
        if (status == Status::Ok && (vector.shape[0] != size || vector.dtype != weight.dtype)) {
            status = vector.shape[0] != size ? Status::BadShape : Status::UnsupportedDType;
        }
    };
    check(input.row, weight.shape[1]);
    check(output, weight.shape[0]);
    if (input.bias.data != nullptr) {
        check(input.bias, weight.shape[0]);
    }
    if (status == Status::Ok) {
        cpu::matrixVector(input, output);
    }
    return status;
}

} // namespace ecokv::kernels
