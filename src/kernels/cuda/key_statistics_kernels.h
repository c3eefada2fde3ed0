#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Device side of keyStatistics: partial sums per block of tokens, their total per head in fixed
// order, then cosine and distance per token. A row is read eight elements per lane and used once.
// Short runs are summed in fp32 and joined in fp64; rows too long or too short for fp32 take a slow
// path in fp64.

#include "kernels/cuda/block_reduce.h"
#include "kernels/cuda/key_rows.h"

namespace ecokv::kernels::cuda {

inline constexpr int kTokensPerBlock = 256;
inline constexpr int kStatisticsThreads = 256; // as many: one thread per norm
inline constexpr int kStatisticsWarps = kStatisticsThreads / simt::kWarp;
inline constexpr int kTotalColumns = simt::kWarp; ///< columns per block of totalSums

/// Where a head's sums lie: keys, unit keys, and if rotated also un-rotated keys and their units
/// [dim] each, then sum |k|, sum |k|^2, number of non-zero keys.
struct SumLayout {
    int dim;
    bool rotated;
    ECOKV_HOST_DEVICE int vectors() const { return rotated ? 4 : 2; }
    ECOKV_HOST_DEVICE int norms() const { return vectors() * dim; }
    ECOKV_HOST_DEVICE int columns() const { return norms() + 3; }
    /// The vectors that c and e are measured against.
    ECOKV_HOST_DEVICE int centroid() const { return rotated ? 2 * dim : 0; }
    ECOKV_HOST_DEVICE int direction() const { return centroid() + dim; }
};

/// A lane's share of the sums of the layout, one row of eights per vector.
template <class Shape> struct LaneSums {
    float value[Shape::kVectors][Shape::kParts][8];

    /// With the inverse lengths of the key as given and un-rotated.
    ECOKV_DEVICE void add(const float (&key)[8], const float (&free)[8], float inverse,
                          float freeInverse, int part) {
        ECOKV_UNROLL
        for (int i = 0; i < 8; ++i) {
            value[0][part][i] += key[i];
            value[1][part][i] += key[i] * inverse;
            if (Shape::kRotated) {
                value[Shape::kVectors - 2][part][i] += free[i];
                value[Shape::kVectors - 1][part][i] += free[i] * freeInverse;
            }
        }
    }
};

/// Adds the rows of a block that fp32 cannot hold; `norms` is negative for those.
template <class T>
ECOKV_DEVICE double extremeRows(const Rows<T>& keys, const DeviceRotation& rotation,
                                std::int64_t begin, const float* norms, int vector, int column) {
    double sum = 0;
    for (int i = 0; i < kTokensPerBlock; ++i) {
        if (norms[i] < 0) {
            const T* key = keys.row(simt::blockY(), begin + i);
            const double value = vector < 2 ? static_cast<double>(toFloat(key[column]))
                                            : turned(key, column, begin + i, rotation);
            double length = 1;
            if (vector % 2 == 1) {
                length = preciseNorm(key, keys.dim);
            }
            if (vector == 3) {
                length = preciseTurnedNorm(key, keys.dim, begin + i, rotation, length);
            }
            sum += value / length;
        }
    }
    return sum;
}

/// `norm` [kvHead, token]; `partial` [kvHead, block, columns of the layout]. Grid (blocks,
/// kvHeads).
template <class Shape, class T>
ECOKV_GLOBAL void sumKeys(Rows<T> keys, DeviceRotation rotation, int blocks, float* norm,
                          double* partial) {
    ECOKV_SHARED float slab[kStatisticsWarps][Shape::kColumns];
    ECOKV_SHARED float norms[kTokensPerBlock]; // negative: an extreme row
    ECOKV_SHARED int anyExtreme;
    const std::int64_t begin = static_cast<std::int64_t>(simt::blockX()) * kTokensPerBlock;
    norms[simt::thread()] = 0;
    if (simt::thread() == 0) {
        anyExtreme = 0;
    }
    simt::sync();

    LaneSums<Shape> sums{};
    KeyReader<Shape, T> reader(keys, begin, kTokensPerBlock);
    for (; reader.more(); reader.advance()) {
        const float squared = reader.squaredNorm();
        const bool ownLengths = Shape::kRotated && rotation.ownLengths;
        const float freeSquared = ownLengths ? reader.squaredFreeNorm(rotation) : squared;
        if (!reader.valid()) {
            continue;
        }
        const bool usual = squared > kSmallestSquare && squared < kLargestSquare;
        const float length =
            usual ? sqrtf(squared) : saturated(preciseNorm(reader.key(), keys.dim));
        if (reader.firstLane()) {
            norms[reader.token() - begin] = usual ? length : -length;
            norm[simt::blockY() * keys.rows + reader.token()] = length;
            if (!usual && length > 0) {
                anyExtreme = 1;
            }
        }
        if (usual) {
            const float inverse = 1.0F / length;
            const float freeInverse = ownLengths ? 1.0F / sqrtf(freeSquared) : inverse;
            ECOKV_UNROLL
            for (int part = 0; part < Shape::kParts; ++part) {
                float key[8], free[8];
                reader.values(part, rotation, key, free);
                sums.add(key, free, inverse, freeInverse, part);
            }
        }
    }

    const SumLayout layout{keys.dim, Shape::kRotated};
    double* out = partial + (static_cast<std::int64_t>(simt::blockY()) * blocks + simt::blockX()) *
                                layout.columns();
    ECOKV_UNROLL
    for (int vector = 0; vector < Shape::kVectors; ++vector) {
        simt::sync(); // the slab of the vector before has been read
        ECOKV_UNROLL
        for (int part = 0; part < Shape::kParts; ++part) {
            ECOKV_UNROLL
            for (int i = 0; i < 8; ++i) {
                const float sum = Shape::joinRows(sums.value[vector][part][i]);
                if (simt::lane() < Shape::kLanes) {
                    slab[simt::warp()][Shape::column(part) + i] = sum;
                }
            }
        }
        simt::sync();
        for (int at = simt::thread(); at < keys.dim; at += simt::threads()) {
            double sum = 0;
            for (int warp = 0; warp < kStatisticsWarps; ++warp) {
                sum += static_cast<double>(slab[warp][at]);
            }
            if (anyExtreme != 0) {
                sum += extremeRows(keys, rotation, begin, norms, vector, at);
            }
            out[vector * keys.dim + at] = sum;
        }
    }

    float length = norms[simt::thread()];
    length = length < 0 ? -length : length;
    double lengths[3] = {static_cast<double>(length),
                         static_cast<double>(length) * static_cast<double>(length),
                         length > 0 ? 1.0 : 0.0};
    blockReduceAll<Sum>(lengths);
    if (simt::thread() == 0) {
        ECOKV_UNROLL
        for (int i = 0; i < 3; ++i) {
            out[layout.norms() + i] = lengths[i];
        }
    }
}

/// Adds the blocks of a head in a fixed order. `totals` [kvHead, columns]: vectors as means.
/// Grid (columns / kTotalColumns, kvHeads).
ECOKV_GLOBAL void totalSums(const double* partial, int blocks, SumLayout layout,
                            std::int64_t tokens, double* totals) {
    ECOKV_SHARED double slab[kStatisticsWarps][kTotalColumns];
    const int column = simt::blockX() * kTotalColumns + simt::lane();
    const std::int64_t head = simt::blockY();
    const int columns = layout.columns();
    double sum = 0;
    for (int block = simt::warp(); column < columns && block < blocks; block += kStatisticsWarps) {
        sum += partial[(head * blocks + block) * columns + column];
    }
    slab[simt::warp()][simt::lane()] = sum;
    simt::sync();
    if (simt::warp() == 0 && column < columns) {
        double total = 0;
        for (int warp = 0; warp < kStatisticsWarps; ++warp) {
            total += slab[warp][simt::lane()];
        }
        totals[head * columns + column] =
            column < layout.norms() ? total / static_cast<double>(tokens) : total;
    }
}

/// `summary` [kvHead, 5]: sum |k|, sum |k|^2, non-zero keys, |kbar|^2, |mu|^2 of keys as given.
ECOKV_DEVICE void summarise(const double* totals, const SumLayout& layout, double* summary) {
    double squares[2] = {0, 0};
    for (int at = simt::thread(); at < layout.dim; at += simt::threads()) {
        squares[0] += totals[at] * totals[at];
        squares[1] += totals[layout.dim + at] * totals[layout.dim + at];
    }
    blockReduceAll<Sum>(squares);
    if (simt::thread() == 0) {
        ECOKV_UNROLL
        for (int i = 0; i < 3; ++i) {
            summary[i] = totals[layout.norms() + i];
        }
        summary[3] = squares[0];
        summary[4] = squares[1];
    }
}

/// A lane's share of the centroid, split so that near keys subtract exactly, and of the direction.
template <class Shape> struct LaneMeans {
    float high[Shape::kParts][8], low[Shape::kParts][8], direction[Shape::kParts][8];

    ECOKV_DEVICE LaneMeans(const double* totals, const SumLayout& layout) {
        ECOKV_UNROLL
        for (int part = 0; part < Shape::kParts; ++part) {
            ECOKV_UNROLL
            for (int i = 0; i < 8; ++i) {
                const int at = Shape::column(part) + i;
                const double centre = at < layout.dim ? totals[layout.centroid() + at] : 0.0;
                high[part][i] = static_cast<float>(centre);
                low[part][i] = static_cast<float>(centre - static_cast<double>(high[part][i]));
                direction[part][i] =
                    at < layout.dim ? static_cast<float>(totals[layout.direction() + at]) : 0.0F;
            }
        }
    }
};

struct Measured {
    float cosine, distance;
};

/// One row in fp64 by one thread.
template <class T>
ECOKV_DEVICE Measured preciseMeasure(const Rows<T>& keys, const DeviceRotation& rotation,
                                     std::int64_t token, const double* totals,
                                     const SumLayout& layout) {
    const T* key = keys.row(simt::blockY(), token);
    const double given = preciseNorm(key, keys.dim);
    const double length =
        given > 0 ? preciseTurnedNorm(key, keys.dim, token, rotation, given) : 0.0;
    double along = 0, squared = 0;
    for (int at = 0; at < keys.dim; ++at) {
        const double value = length > 0 ? turned(key, at, token, rotation) : 0.0;
        const double offset = value - totals[layout.centroid() + at];
        along += value * totals[layout.direction() + at];
        squared += offset * offset;
    }
    return {static_cast<float>(length > 0 ? along / length : 0.0),
            saturated(sqrt(squared) / rotation.scaling)};
}

/// c_i and e_i [kvHead, token] from `norm`, `summary` from block 0. Grid (blocks, kvHeads).
template <class Shape, class T>
ECOKV_GLOBAL void measureKeys(Rows<T> keys, DeviceRotation rotation, const double* allTotals,
                              const float* norm, float* cosine, float* euclid, double* summary) {
    const SumLayout layout{keys.dim, Shape::kRotated};
    const double* totals = allTotals + simt::blockY() * layout.columns();
    if (simt::blockX() == 0) {
        summarise(totals, layout, summary + simt::blockY() * 5);
    }
    const LaneMeans<Shape> means(totals, layout);
    const std::int64_t begin = static_cast<std::int64_t>(simt::blockX()) * kTokensPerBlock;
    KeyReader<Shape, T> reader(keys, begin, kTokensPerBlock);
    for (; reader.more(); reader.advance()) {
        const std::int64_t out = simt::blockY() * keys.rows + reader.token();
        const float length = reader.valid() ? norm[out] : 0.0F;
        float along = 0, squared = 0;
        const bool ownLengths = Shape::kRotated && rotation.ownLengths;
        const float own = ownLengths ? sqrtf(reader.squaredFreeNorm(rotation)) : length;
        ECOKV_UNROLL
        for (int part = 0; part < Shape::kParts; ++part) {
            float key[8], free[8];
            reader.values(part, rotation, key, free);
            ECOKV_UNROLL
            for (int i = 0; i < 8; ++i) {
                const float value = length > 0 ? free[i] : 0.0F; // a damaged row is 0
                const float offset = (value - means.high[part][i]) - means.low[part][i];
                along += value * means.direction[part][i];
                squared += offset * offset;
            }
        }
        along = Shape::joinLanes(along);
        squared = Shape::joinLanes(squared);
        if (!reader.valid() || !reader.firstLane()) {
            continue;
        }
        Measured result{length > 0 ? along / own : 0.0F,
                        saturated(static_cast<double>(sqrtf(squared)) / rotation.scaling)};
        const bool extreme =
            length * length > kLargestSquare || (length > 0 && length * length < kSmallestSquare);
        if (extreme || !isFinite(squared)) {
            result = preciseMeasure(keys, rotation, reader.token(), totals, layout);
        }
        cosine[out] = result.cosine;
        euclid[out] = result.distance;
    }
}

} // namespace ecokv::kernels::cuda
