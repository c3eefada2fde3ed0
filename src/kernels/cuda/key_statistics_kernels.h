#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Device side of keyStatistics: partial sums per block of tokens, their total per head in fixed
// order, then cosine and distance per token. Sums in fp64: r_cos and e cancel in redundant heads.

#include "kernels/cuda/block_reduce.h"
#include "kernels/cuda/element.h"

namespace ecokv::kernels::cuda {

inline constexpr int kTokensPerBlock = 64;
inline constexpr int kStatisticsThreads = 128;

/// Rotation to undo while reading; `positions` null = keys as they are. Device memory.
struct DeviceRotation {
    const std::int64_t* positions; ///< [token]
    const float* frequencies;      ///< [dim / 2]
    bool interleaved;
    double scaling; ///< what rotated keys were multiplied with
};

/// Component `at` of a key with its rotation undone, in fp64.
template <class T>
ECOKV_DEVICE double component(const T* key, int at, int dim, std::int64_t token,
                              const DeviceRotation& rotation) {
    if (rotation.positions == nullptr) {
        return static_cast<double>(toFloat(key[at]));
    }
    const int pair = rotation.interleaved ? at / 2 : at % (dim / 2);
    const int first = rotation.interleaved ? 2 * pair : pair;
    const int second = rotation.interleaved ? first + 1 : pair + dim / 2;
    const auto position = static_cast<float>(rotation.positions[token]);
    // the float32 product, as models compute the angle when they rotate
    const auto angle = static_cast<double>(position * rotation.frequencies[pair]);
    const double a = static_cast<double>(toFloat(key[first]));
    const double b = static_cast<double>(toFloat(key[second]));
    const double turned =
        at == first ? a * cos(angle) + b * sin(angle) : b * cos(angle) - a * sin(angle);
    return turned / rotation.scaling;
}

/// Norm of a key over the lanes of a warp; 0 for a row that is not finite, which reads as zeros.
template <class T> ECOKV_DEVICE double warpNorm(const T* key, int dim) {
    double squared = 0;
    for (int at = simt::lane(); at < dim; at += simt::kWarp) {
        const auto value = static_cast<double>(toFloat(key[at]));
        squared += value * value;
    }
    squared = warpReduce<Sum>(squared);
    return isFinite(squared) ? sqrt(squared) : 0.0;
}

/// Where a head's sums lie: keys, unit keys, un-rotated keys, un-rotated unit keys [dim] each, then
/// sum |k|, sum |k|^2, number of non-zero keys.
struct SumLayout {
    int dim;
    ECOKV_DEVICE int keys() const { return 0; }
    ECOKV_DEVICE int units() const { return dim; }
    ECOKV_DEVICE int freeKeys() const { return 2 * dim; }
    ECOKV_DEVICE int freeUnits() const { return 3 * dim; }
    ECOKV_DEVICE int norms() const { return 4 * dim; }
};

ECOKV_HOST_DEVICE int sumColumns(int dim) {
    return 4 * dim + 3;
}

/// `partial` [kvHead, block, sumColumns(dim)]; grid (blocks, kvHeads).
template <class T>
ECOKV_GLOBAL void sumKeys(Rows<T> keys, DeviceRotation rotation, int blocks, double* partial) {
    ECOKV_SHARED double norms[kTokensPerBlock];
    const std::int64_t begin = static_cast<std::int64_t>(simt::blockX()) * kTokensPerBlock;
    const std::int64_t left = keys.rows - begin;
    const int count = static_cast<int>(left < kTokensPerBlock ? left : kTokensPerBlock);
    for (int i = simt::warp(); i < count; i += simt::threads() / simt::kWarp) {
        const double norm = warpNorm(keys.row(simt::blockY(), begin + i), keys.dim);
        if (simt::lane() == 0) {
            norms[i] = norm;
        }
    }
    simt::sync();

    const SumLayout layout{keys.dim};
    const DeviceRotation none{nullptr, nullptr, false, 1.0};
    double* out = partial + (static_cast<std::int64_t>(simt::blockY()) * blocks + simt::blockX()) *
                                sumColumns(keys.dim);
    for (int at = simt::thread(); at < keys.dim; at += simt::threads()) {
        double sum = 0, unitSum = 0, freeSum = 0, freeUnitSum = 0;
        for (int i = 0; i < count; ++i) {
            if (norms[i] == 0.0) {
                continue;
            }
            const T* key = keys.row(simt::blockY(), begin + i);
            const double value = component(key, at, keys.dim, begin + i, none);
            const double free = rotation.positions == nullptr
                                    ? value
                                    : component(key, at, keys.dim, begin + i, rotation);
            sum += value;
            unitSum += value / norms[i];
            freeSum += free;
            freeUnitSum += free * rotation.scaling / norms[i];
        }
        out[layout.keys() + at] = sum;
        out[layout.units() + at] = unitSum;
        out[layout.freeKeys() + at] = freeSum;
        out[layout.freeUnits() + at] = freeUnitSum;
    }
    if (simt::thread() == 0) {
        double sum = 0, squares = 0, nonZero = 0;
        for (int i = 0; i < count; ++i) {
            sum += norms[i];
            squares += norms[i] * norms[i];
            nonZero += norms[i] > 0 ? 1.0 : 0.0;
        }
        out[layout.norms()] = sum;
        out[layout.norms() + 1] = squares;
        out[layout.norms() + 2] = nonZero;
    }
}

/// Adds the blocks of a head in order. `totals` [kvHead, sumColumns(dim)]: the vectors as means.
/// `summary` [kvHead, 5]: sum |k|, sum |k|^2, non-zero keys, |kbar|^2, |mu|^2. Grid (1, kvHeads).
ECOKV_GLOBAL void totalSums(const double* partial, int blocks, int dim, std::int64_t tokens,
                            double* totals, double* summary) {
    const SumLayout layout{dim};
    const int columns = sumColumns(dim);
    const std::int64_t head = simt::blockY();
    double centroid = 0, direction = 0;
    for (int at = simt::thread(); at < columns; at += simt::threads()) {
        double sum = 0;
        for (int block = 0; block < blocks; ++block) {
            sum += partial[(head * blocks + block) * columns + at];
        }
        const bool vector = at < layout.norms();
        const double value = vector ? sum / static_cast<double>(tokens) : sum;
        totals[head * columns + at] = value;
        centroid += at < layout.units() ? value * value : 0.0;
        direction += at >= layout.units() && at < layout.freeKeys() ? value * value : 0.0;
        if (!vector) {
            summary[head * 5 + at - layout.norms()] = value;
        }
    }
    centroid = blockReduce<Sum>(centroid);
    direction = blockReduce<Sum>(direction);
    if (simt::thread() == 0) {
        summary[head * 5 + 3] = centroid;
        summary[head * 5 + 4] = direction;
    }
}

/// One warp per token: c_i, e_i, |k_i| [kvHead, token]. Grid (tokens / warps per block, kvHeads).
template <class T>
ECOKV_GLOBAL void measureKeys(Rows<T> keys, DeviceRotation rotation, const double* totals,
                              float* cosine, float* euclid, float* norm) {
    const int warps = simt::threads() / simt::kWarp;
    const std::int64_t token = static_cast<std::int64_t>(simt::blockX()) * warps + simt::warp();
    if (token >= keys.rows) {
        return; // whole warps leave together; no barrier of the block follows
    }
    const SumLayout layout{keys.dim};
    const double* means = totals + simt::blockY() * sumColumns(keys.dim);
    const T* key = keys.row(simt::blockY(), token);
    const double length = warpNorm(key, keys.dim);
    double along = 0, squared = 0;
    for (int at = simt::lane(); at < keys.dim; at += simt::kWarp) {
        const double value =
            length > 0 ? component(key, at, keys.dim, token, rotation) : 0.0; // a damaged row is 0
        const double offset = value - means[layout.freeKeys() + at];
        along += value * rotation.scaling * means[layout.freeUnits() + at];
        squared += offset * offset;
    }
    along = warpReduce<Sum>(along);
    squared = warpReduce<Sum>(squared);
    if (simt::lane() == 0) {
        const std::int64_t out = simt::blockY() * keys.rows + token;
        cosine[out] = static_cast<float>(length > 0 ? along / length : 0.0);
        euclid[out] = saturated(sqrt(squared));
        norm[out] = saturated(length);
    }
}

} // namespace ecokv::kernels::cuda
