#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Device side: reductions in a fixed order, so that a result never depends on scheduling. Every
// lane (or thread of the block) must call them and gets the result. Blocks are whole warps.

#include "kernels/cuda/simt.h"

#include <cmath>

namespace ecokv::kernels::cuda {

struct Sum {
    ECOKV_DEVICE static double identity() { return 0.0; }
    ECOKV_DEVICE static double join(double a, double b) { return a + b; }
};

struct Largest {
    ECOKV_DEVICE static double identity() { return -HUGE_VAL; }
    ECOKV_DEVICE static double join(double a, double b) { return a > b ? a : b; }
};

template <class Op> ECOKV_DEVICE double warpReduce(double value) {
    for (int mask = simt::kWarp / 2; mask > 0; mask /= 2) {
        value = Op::join(value, simt::exchange(value, mask));
    }
    return value;
}

template <class Op> ECOKV_DEVICE double blockReduce(double value) {
    ECOKV_SHARED double partial[simt::kWarp];
    const int warps = simt::threads() / simt::kWarp;
    value = warpReduce<Op>(value);
    simt::sync(); // results of an earlier reduction have been read
    if (simt::lane() == 0) {
        partial[simt::warp()] = value;
    }
    simt::sync();
    double result = Op::identity();
    for (int i = 0; i < warps; ++i) {
        result = Op::join(result, partial[i]);
    }
    return result;
}

} // namespace ecokv::kernels::cuda
