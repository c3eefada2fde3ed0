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

/// Replaces every one of `values` by its result over the block, at the price of one barrier pair.
template <class Op, int count> ECOKV_DEVICE void blockReduceAll(double (&values)[count]) {
    ECOKV_SHARED double partial[count][simt::kWarp];
    const int warps = simt::threads() / simt::kWarp;
    for (int i = 0; i < count; ++i) {
        values[i] = warpReduce<Op>(values[i]);
    }
    simt::sync(); // results of an earlier reduction have been read
    if (simt::lane() == 0) {
        for (int i = 0; i < count; ++i) {
            partial[i][simt::warp()] = values[i];
        }
    }
    simt::sync();
    for (int i = 0; i < count; ++i) {
        double result = Op::identity();
        for (int warp = 0; warp < warps; ++warp) {
            result = Op::join(result, partial[i][warp]);
        }
        values[i] = result;
    }
}

template <class Op> ECOKV_DEVICE double blockReduce(double value) {
    double values[1] = {value};
    blockReduceAll<Op>(values);
    return values[0];
}

} // namespace ecokv::kernels::cuda
