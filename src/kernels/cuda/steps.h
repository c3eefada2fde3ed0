#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The order of kernel launches of each operation, written against a Runtime that allocates, copies
// and launches: CUDA in the product (cuda_runtime.cuh), the SIMT shim in the tests. So everything
// but the launch syntax itself runs without a GPU.
//
// Runtime: T* scratch<T>(count); void upload(T* to, const T* from, count); void download(T* to,
// const T* from, count); void launch(kernel, Grid, threads, arguments...); Status status().

#include "kernels/cuda/compact_rows_steps.h"
#include "kernels/cuda/composite_score_steps.h"
#include "kernels/cuda/key_statistics_steps.h"
#include "kernels/cuda/window_importance_steps.h"
