#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Device side of windowImportance for half-precision rows, on the tensor cores: the logits are
// computed twice and never stored. A first pass gives every window row its peak and sum of
// exponentials per block of keys, joinSoftmax joins them, a second pass adds up the weights per
// key. Logits are in units of log 2.

#include "kernels/cuda/block_reduce.h"
#include "kernels/cuda/tile_product.h"
#include "kernels/cuda/window_rows.h"

namespace ecokv::kernels::cuda {

inline constexpr int kTileThreads = 128;
inline constexpr int kTileWarps = kTileThreads / simt::kWarp;
inline constexpr int kTileKeys = 64;
inline constexpr int kTileColumns = kTileKeys / 8; ///< products per tile
inline constexpr int kKeysPerBlock = 128;
inline constexpr int kRowsPerWarp = 16;

template <class T> struct TiledWindow {
    Window<T> window;
    Rows<T> keys;
    Positions keyPositions;
    float scale;  ///< of the dot products, times log2(e)
    int rowWarps; ///< 1, 2 or 4: warps of a block side by side on the rows; the others share keys

    ECOKV_HOST_DEVICE int rowsPerBlock() const { return rowWarps * kRowsPerWarp; }
    /// Blocks of keys of all warps: the parts joinSoftmax joins.
    ECOKV_HOST_DEVICE int parts(int blocks) const { return blocks * (kTileWarps / rowWarps); }
};

/// One tile of keys in shared memory, in the order the warps read it: [column of 8 keys, 32
/// elements of dim, lane]. A lane's 16 bytes hold its factors of two products: since all rows are
/// permuted alike, which element goes to which step does not matter.
template <int chunks> struct KeyTile { Words words[kTileColumns][chunks][simt::kWarp]; };

/// Element of a row at which the lane's bytes of a chunk begin.
ECOKV_DEVICE int laneElement(int chunk, int lane) {
    return chunk * 32 + lane % 4 * 8;
}

template <class T> ECOKV_DEVICE Words readWords(const T* row, int at, int dim) {
    return at < dim ? *reinterpret_cast<const Words*>(row + at) : Words{};
}

template <int chunks, class T>
ECOKV_DEVICE void fillTile(KeyTile<chunks>& tile, const Rows<T>& keys, std::int64_t begin) {
    constexpr int kCount = kTileColumns * chunks * simt::kWarp;
    for (int i = simt::thread(); i < kCount; i += kTileThreads) {
        const int lane = i % simt::kWarp;
        const int chunk = i / simt::kWarp % chunks;
        const int column = i / simt::kWarp / chunks;
        const std::int64_t token = begin + column * 8 + lane / 4;
        tile.words[column][chunk][lane] =
            token < keys.rows
                ? readWords(keys.row(simt::blockY(), token), laneElement(chunk, lane), keys.dim)
                : Words{};
    }
}

/// Sixteen window rows of a warp: their factors and what they may see.
template <int chunks, class T> class WarpRows {
public:
    ECOKV_DEVICE WarpRows(const TiledWindow<T>& input, std::int64_t first) : m_input(input) {
        ECOKV_UNROLL
        for (int half = 0; half < 2; ++half) {
            m_row[half] = first + simt::lane() / 4 + 8 * half;
            const bool exists = m_row[half] < input.window.count();
            m_position[half] = exists ? input.window.position(m_row[half]) : 0;
            ECOKV_UNROLL
            for (int chunk = 0; chunk < chunks; ++chunk) {
                m_factors[half][chunk] =
                    exists ? readWords(input.window.row(simt::blockY(), m_row[half]),
                                       laneElement(chunk, simt::lane()), input.keys.dim)
                           : Words{};
            }
        }
    }

    ECOKV_DEVICE std::int64_t row(int half) const { return m_row[half]; }

    /// Logits of rows (half 0: 0 and 1, half 1: 2 and 3) with keys 2 * member and the next.
    ECOKV_DEVICE void logits(const KeyTile<chunks>& tile, int column, std::int64_t begin,
                             float (&values)[4]) const {
        ECOKV_UNROLL
        for (int i = 0; i < 4; ++i) {
            values[i] = 0;
        }
        ECOKV_UNROLL
        for (int chunk = 0; chunk < chunks; ++chunk) {
            const Words key = tile.words[column][chunk][simt::lane()];
            const Words& upper = m_factors[0][chunk];
            const Words& lower = m_factors[1][chunk];
            ECOKV_UNROLL
            for (int step = 0; step < 4; step += 2) {
                const std::uint32_t a[4] = {upper.word[step], lower.word[step],
                                            upper.word[step + 1], lower.word[step + 1]};
                const std::uint32_t b[2] = {key.word[step], key.word[step + 1]};
                addProduct(T{}, values, a, b);
            }
        }
        const std::int64_t token = begin + column * 8 + simt::lane() % 4 * 2;
        ECOKV_UNROLL
        for (int i = 0; i < 4; ++i) {
            values[i] *= m_input.scale;
            const std::int64_t key = token + i % 2;
            const bool visible = key < m_input.keys.rows && isFinite(values[i]) &&
                                 m_input.keyPositions.at(key) <= m_position[i / 2];
            values[i] = visible ? values[i] : -HUGE_VALF;
        }
    }

private:
    const TiledWindow<T>& m_input;
    std::int64_t m_row[2], m_position[2];
    Words m_factors[2][chunks];
};

/// Peak and sum of exponentials of a row so far; peak -inf: it has seen nothing.
struct RunningSoftmax {
    float peak = -HUGE_VALF, sum = 0;

    ECOKV_DEVICE void raise(float peakOfMore) {
        if (peakOfMore > peak) {
            sum *= exp2f(peak - peakOfMore);
            peak = peakOfMore;
        }
    }
    ECOKV_DEVICE void add(float logit) { sum += exp2f(logit - (peak > -HUGE_VALF ? peak : 0.0F)); }
    ECOKV_DEVICE void join(const RunningSoftmax& other) {
        raise(other.peak);
        sum += other.sum * exp2f(other.peak - (peak > -HUGE_VALF ? peak : 0.0F));
    }
};

/// `softmax` [kvHead, row, part, 2]: peak and sum. Grid (blocks * row groups, kvHeads).
template <int chunks, class T>
ECOKV_GLOBAL void windowPeaks(TiledWindow<T> input, int blocks, float* softmax) {
    ECOKV_SHARED KeyTile<chunks> tile;
    const int block = simt::blockX() % blocks;
    const int keyWarps = kTileWarps / input.rowWarps;
    const int keyPart = simt::warp() / input.rowWarps;
    const std::int64_t first =
        static_cast<std::int64_t>(simt::blockX() / blocks) * input.rowsPerBlock() +
        simt::warp() % input.rowWarps * kRowsPerWarp;
    const WarpRows<chunks, T> rows(input, first);
    RunningSoftmax running[2];
    const std::int64_t start = static_cast<std::int64_t>(block) * kKeysPerBlock;
    for (std::int64_t begin = start; begin < start + kKeysPerBlock && begin < input.keys.rows;
         begin += kTileKeys) {
        simt::sync(); // the tile before has been read
        fillTile(tile, input.keys, begin);
        simt::sync();
        for (int column = keyPart; column < kTileColumns; column += keyWarps) {
            float values[4];
            rows.logits(tile, column, begin, values);
            ECOKV_UNROLL
            for (int half = 0; half < 2; ++half) {
                const float left = values[2 * half], right = values[2 * half + 1];
                running[half].raise(left > right ? left : right);
                running[half].add(left);
                running[half].add(right);
            }
        }
    }
    const std::int64_t count = input.window.count();
    const int parts = input.parts(blocks);
    ECOKV_UNROLL
    for (int half = 0; half < 2; ++half) {
        for (int mask = 1; mask < 4; mask *= 2) {
            const RunningSoftmax other{simt::exchange(running[half].peak, mask),
                                       simt::exchange(running[half].sum, mask)};
            running[half].join(other);
        }
        if (simt::lane() % 4 == 0 && rows.row(half) < count) {
            float* out = softmax + 2 * ((simt::blockY() * count + rows.row(half)) * parts +
                                        block * keyWarps + keyPart);
            out[0] = running[half].peak;
            out[1] = running[half].sum;
        }
    }
}

/// `joined` [kvHead, row, 2]: peak and 1 / sum, (0, 0) for a row that sees nothing. One warp per
/// row; grid (rows / warps, kvHeads).
ECOKV_GLOBAL void joinSoftmax(const float* softmax, std::int64_t rows, int parts, float* joined) {
    const std::int64_t row =
        static_cast<std::int64_t>(simt::blockX()) * (simt::threads() / simt::kWarp) + simt::warp();
    if (row >= rows) {
        return; // whole warps leave together; no barrier of the block follows
    }
    const float* values = softmax + 2 * (simt::blockY() * rows + row) * parts;
    double peak = -HUGE_VAL;
    for (int part = simt::lane(); part < parts; part += simt::kWarp) {
        peak = Largest::join(peak, static_cast<double>(values[2 * part]));
    }
    peak = warpReduce<Largest>(peak);
    double sum = 0;
    for (int part = simt::lane(); part < parts; part += simt::kWarp) {
        const double below = static_cast<double>(values[2 * part]) - peak;
        sum += peak > -HUGE_VAL ? static_cast<double>(values[2 * part + 1]) * exp2(below) : 0.0;
    }
    sum = warpReduce<Sum>(sum);
    if (simt::lane() == 0) {
        float* out = joined + 2 * (simt::blockY() * rows + row);
        out[0] = sum > 0 ? static_cast<float>(peak) : 0.0F;
        out[1] = sum > 0 ? static_cast<float>(1.0 / sum) : 0.0F;
    }
}

/// `importance` [kvHead, token] f32: mean over the rows. Grid (blocks, kvHeads).
template <int chunks, class T>
ECOKV_GLOBAL void tiledImportance(TiledWindow<T> input, const float* joined, float* importance) {
    ECOKV_SHARED KeyTile<chunks> tile;
    ECOKV_SHARED float weights[kTileWarps][kKeysPerBlock];
    for (int key = simt::lane(); key < kKeysPerBlock; key += simt::kWarp) {
        weights[simt::warp()][key] = 0;
    }
    const std::int64_t count = input.window.count();
    const int keyWarps = kTileWarps / input.rowWarps;
    const int keyPart = simt::warp() / input.rowWarps;
    const std::int64_t start = static_cast<std::int64_t>(simt::blockX()) * kKeysPerBlock;
    for (std::int64_t group = 0; group < count; group += input.rowsPerBlock()) {
        const WarpRows<chunks, T> rows(input, group + simt::warp() % input.rowWarps * kRowsPerWarp);
        float peak[2] = {0, 0}, share[2] = {0, 0};
        ECOKV_UNROLL
        for (int half = 0; half < 2; ++half) {
            if (rows.row(half) < count) {
                const float* row = joined + 2 * (simt::blockY() * count + rows.row(half));
                peak[half] = row[0];
                share[half] = row[1];
            }
        }
        for (std::int64_t begin = start; begin < start + kKeysPerBlock && begin < input.keys.rows;
             begin += kTileKeys) {
            simt::sync(); // the tile before has been read
            fillTile(tile, input.keys, begin);
            simt::sync();
            for (int column = keyPart; column < kTileColumns; column += keyWarps) {
                float values[4];
                rows.logits(tile, column, begin, values);
                float sums[2];
                ECOKV_UNROLL
                for (int i = 0; i < 2; ++i) {
                    sums[i] = exp2f(values[i] - peak[0]) * share[0] +
                              exp2f(values[i + 2] - peak[1]) * share[1];
                    for (int mask = 4; mask < simt::kWarp; mask *= 2) {
                        sums[i] += simt::exchange(sums[i], mask);
                    }
                }
                if (simt::lane() < 4) {
                    float* own = weights[simt::warp()] + (begin - start) + column * 8;
                    own[2 * simt::lane()] += sums[0];
                    own[2 * simt::lane() + 1] += sums[1];
                }
            }
        }
    }
    simt::sync();
    const std::int64_t token = start + simt::thread();
    if (token < input.keys.rows) {
        float sum = 0;
        for (int warp = 0; warp < kTileWarps; ++warp) {
            sum += weights[warp][simt::thread()];
        }
        importance[simt::blockY() * input.keys.rows + token] =
            sum / static_cast<float>(count > 0 ? count : 1);
    }
}

} // namespace ecokv::kernels::cuda
