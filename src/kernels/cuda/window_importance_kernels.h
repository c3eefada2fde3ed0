#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Device side of windowImportance for any rows: logits of the window rows, their softmax
// denominators, the mean over rows. Dot products are summed in fp64 and scaled before they are
// stored (field case F023). Half-precision rows usually take window_tiles_kernels.h.

#include "kernels/cuda/block_reduce.h"
#include "kernels/cuda/window_rows.h"

namespace ecokv::kernels::cuda {

inline constexpr int kImportanceThreads = 128;

/// One warp per key. `logits` [kvHead, group * window, token] f32; a hidden key gets -inf.
template <class Q, class K>
ECOKV_GLOBAL void windowLogits(Window<Q> window, Rows<K> keys, Positions keyPositions, double scale,
                               float* logits) {
    const int warps = simt::threads() / simt::kWarp;
    const std::int64_t token = static_cast<std::int64_t>(simt::blockX()) * warps + simt::warp();
    if (token >= keys.rows) {
        return;
    }
    const K* key = keys.row(simt::blockY(), token);
    const std::int64_t rows = window.count();
    for (std::int64_t row = 0; row < rows; ++row) {
        const Q* query = window.row(simt::blockY(), row);
        double dot = 0;
        for (int at = simt::lane(); at < keys.dim; at += simt::kWarp) {
            dot += static_cast<double>(toFloat(query[at])) * static_cast<double>(toFloat(key[at]));
        }
        dot = warpReduce<Sum>(dot) * scale;
        if (simt::lane() == 0) {
            const bool visible = keyPositions.at(token) <= window.position(row) && isFinite(dot);
            logits[(simt::blockY() * rows + row) * keys.rows + token] =
                visible ? static_cast<float>(dot) : -HUGE_VALF;
        }
    }
}

/// Peak and 1 / sum of exponentials of every row, `softmax` [kvHead, row, 2] f64; (0, 0) for a row
/// that sees nothing. Grid (rows, kvHeads).
ECOKV_GLOBAL void softmaxRows(const float* logits, std::int64_t rows, std::int64_t tokens,
                              double* softmax) {
    const std::int64_t row = simt::blockY() * rows + simt::blockX();
    const float* line = logits + row * tokens;
    double peak = -HUGE_VAL;
    for (std::int64_t token = simt::thread(); token < tokens; token += simt::threads()) {
        peak = Largest::join(peak, static_cast<double>(line[token]));
    }
    peak = blockReduce<Largest>(peak);
    double sum = 0;
    for (std::int64_t token = simt::thread(); token < tokens; token += simt::threads()) {
        sum += peak > -HUGE_VAL ? exp(static_cast<double>(line[token]) - peak) : 0.0;
    }
    sum = blockReduce<Sum>(sum);
    if (simt::thread() == 0) {
        softmax[2 * row] = sum > 0 ? peak : 0.0;
        softmax[2 * row + 1] = sum > 0 ? 1.0 / sum : 0.0;
    }
}

/// `importance` [kvHead, token] f32: mean over the rows. Grid (tokens / threads, kvHeads).
ECOKV_GLOBAL void meanImportance(const float* logits, const double* softmax, std::int64_t rows,
                                 std::int64_t tokens, float* importance) {
    const std::int64_t token =
        static_cast<std::int64_t>(simt::blockX()) * simt::threads() + simt::thread();
    if (token >= tokens) {
        return;
    }
    double sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t row = simt::blockY() * rows + i;
        sum += exp(static_cast<double>(logits[row * tokens + token]) - softmax[2 * row]) *
               softmax[2 * row + 1];
    }
    importance[simt::blockY() * tokens + token] =
        static_cast<float>(sum / static_cast<double>(rows > 0 ? rows : 1));
}

} // namespace ecokv::kernels::cuda
