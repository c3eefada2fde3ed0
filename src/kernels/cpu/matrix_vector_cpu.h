#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: matrixVector() of checked arguments, vectorised in matrix_vector_cpu.cpp.

#include "kernels/matrix_vector.h"

namespace ecokv::kernels::cpu {

void matrixVector(const MatrixVectorInput& input, const TensorView& output);

} // namespace ecokv::kernels::cpu
