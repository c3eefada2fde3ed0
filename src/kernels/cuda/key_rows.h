#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Device side: how the lanes of a warp share the rows of a key tensor, and rows with their rotation
// undone. Un-rotated values are those of R(-p) k; lengths still carry the attention scaling.

#include "kernels/cuda/element.h"

namespace ecokv::kernels::cuda {

/// Squares outside are computed again in fp64: sums of eight rows of such lengths stay exact
/// enough.
inline constexpr float kSmallestSquare = 1e-25F;
inline constexpr float kLargestSquare = 1e30F;

/// Rotation to undo while reading; `turns` null = keys as they are. Device memory.
struct DeviceRotation {
    const float* turns; ///< [token, pair, 2]: cosine, sine
    int pairs;          ///< the first 2 * pairs dims turn
    bool interleaved;
    bool ownLengths; ///< un-rotated lengths are to be taken; `turns` then undo the scaling too
    double scaling;  ///< what rotated keys were multiplied with; 1 with ownLengths
};

/// By what the pairs of a token turn; device memory.
struct TurnTable {
    Positions positions;
    const std::int32_t* axisPositions; ///< [token, 3] in place of `positions`, or null
    const std::uint8_t* axes;          ///< [pair] or null: all the first
    const float* frequencies;          ///< [pair]
    std::int64_t tokens;
    int pairs;
    float factor; ///< on cosines and sines
};

/// Fills DeviceRotation::turns. One thread per token and pair; grid (tokens * pairs / threads, 1).
ECOKV_GLOBAL void tabulateTurns(TurnTable table, float* turns) {
    const std::int64_t index =
        static_cast<std::int64_t>(simt::blockX()) * simt::threads() + simt::thread();
    if (index >= table.tokens * table.pairs) {
        return;
    }
    const std::int64_t token = index / table.pairs;
    const std::int64_t pair = index % table.pairs;
    float position = 0;
    if (table.axisPositions != nullptr) {
        const int axis = table.axes != nullptr ? table.axes[pair] : 0;
        position = static_cast<float>(table.axisPositions[3 * token + axis]);
    } else {
        position = static_cast<float>(table.positions.at(token));
    }
    // the float32 product, as models compute the angle when they rotate
    const auto angle = static_cast<double>(position * table.frequencies[pair]);
    turns[2 * index] = static_cast<float>(cos(angle)) * table.factor;
    turns[2 * index + 1] = static_cast<float>(sin(angle)) * table.factor;
}

/// Component `at` of R(-p) k in fp64.
template <class T>
ECOKV_DEVICE double turned(const T* key, int at, std::int64_t token,
                           const DeviceRotation& rotation) {
    const auto own = static_cast<double>(toFloat(key[at]));
    const int half = rotation.pairs;
    if (rotation.turns == nullptr || at >= 2 * half) {
        return own;
    }
    const int pair = rotation.interleaved ? at / 2 : at % half;
    const bool first = rotation.interleaved ? at % 2 == 0 : at < half;
    const int partner = rotation.interleaved ? at ^ 1 : (first ? at + half : at - half);
    const float* turn = rotation.turns + 2 * (token * half + pair);
    const double across = static_cast<double>(toFloat(key[partner])) * static_cast<double>(turn[1]);
    return own * static_cast<double>(turn[0]) + (first ? across : -across);
}

/// Norm of a key in fp64 by one thread; 0 for a row that is not finite, which reads as zeros.
template <class T> ECOKV_DEVICE double preciseNorm(const T* key, int dim) {
    double squared = 0;
    for (int at = 0; at < dim; ++at) {
        const auto value = static_cast<double>(toFloat(key[at]));
        squared += value * value;
    }
    return isFinite(squared) ? sqrt(squared) : 0.0;
}

/// Norm of an un-rotated key, whose norm as given is `given`, as DeviceRotation wants it.
template <class T>
ECOKV_DEVICE double preciseTurnedNorm(const T* key, int dim, std::int64_t token,
                                      const DeviceRotation& rotation, double given) {
    if (!rotation.ownLengths) {
        return given;
    }
    double squared = 0;
    for (int at = 0; at < dim; ++at) {
        const double value = turned(key, at, token, rotation);
        squared += value * value;
    }
    return sqrt(squared);
}

/// `lanes` lanes hold one row, eight elements each, `parts` times.
template <int lanes, int parts, bool wide, bool rotated> struct RowShape {
    static constexpr int kLanes = lanes;
    static constexpr int kParts = parts;
    static constexpr int kColumns = lanes * parts * 8;
    static constexpr int kRows = simt::kWarp / lanes; ///< rows a warp holds at once
    static constexpr bool kWide = wide;               ///< see readableInEights
    static constexpr bool kRotated = rotated;
    static constexpr int kVectors = rotated ? 4 : 2; ///< see SumLayout

    ECOKV_DEVICE static int column(int part) { return (simt::lane() % kLanes + kLanes * part) * 8; }
    /// Over the lanes of a row.
    ECOKV_DEVICE static float joinLanes(float value) {
        for (int mask = kLanes / 2; mask > 0; mask /= 2) {
            value += simt::exchange(value, mask);
        }
        return value;
    }
    /// Over the rows a warp holds.
    ECOKV_DEVICE static float joinRows(float value) {
        for (int mask = simt::kWarp / 2; mask >= kLanes; mask /= 2) {
            value += simt::exchange(value, mask);
        }
        return value;
    }
};

/// Walks a block's share of the tokens, kRows of a warp at a time, reading one step ahead. All
/// lanes must walk together; those beyond the last token read zeros and are not valid().
template <class Shape, class T> class KeyReader {
public:
    ECOKV_DEVICE KeyReader(const Rows<T>& keys, std::int64_t begin, int count)
        : m_keys(keys), m_end(begin + count < keys.rows ? begin + count : keys.rows),
          m_step(begin + simt::warp() * Shape::kRows),
          m_stride(simt::threads() / simt::kWarp * Shape::kRows) {
        read(m_step, m_now);
        read(m_step + m_stride, m_next);
    }

    ECOKV_DEVICE bool more() const { return m_step < m_end; }
    ECOKV_DEVICE void advance() {
        m_step += m_stride;
        ECOKV_UNROLL
        for (int part = 0; part < Shape::kParts; ++part) {
            m_now[part] = m_next[part];
        }
        read(m_step + m_stride, m_next);
    }
    ECOKV_DEVICE std::int64_t token() const { return m_step + simt::lane() / Shape::kLanes; }
    ECOKV_DEVICE bool valid() const { return token() < m_end; }
    ECOKV_DEVICE bool firstLane() const { return simt::lane() % Shape::kLanes == 0; }
    ECOKV_DEVICE const T* key() const { return m_keys.row(simt::blockY(), token()); }

    ECOKV_DEVICE float squaredNorm() const {
        float squared = 0;
        ECOKV_UNROLL
        for (int part = 0; part < Shape::kParts; ++part) {
            float values[8];
            m_now[part].unpack(values);
            ECOKV_UNROLL
            for (int i = 0; i < 8; ++i) {
                squared += values[i] * values[i];
            }
        }
        return Shape::joinLanes(squared);
    }

    /// Of the row un-rotated.
    ECOKV_DEVICE float squaredFreeNorm(const DeviceRotation& rotation) const {
        float squared = 0;
        ECOKV_UNROLL
        for (int part = 0; part < Shape::kParts; ++part) {
            float key[8], free[8];
            values(part, rotation, key, free);
            ECOKV_UNROLL
            for (int i = 0; i < 8; ++i) {
                squared += free[i] * free[i];
            }
        }
        return Shape::joinLanes(squared);
    }

    /// The lane's elements of `part` as given, and as R(-p) k (the same without a rotation).
    ECOKV_DEVICE void values(int part, const DeviceRotation& rotation, float (&given)[8],
                             float (&free)[8]) const {
        m_now[part].unpack(given);
        const int column = Shape::column(part);
        ECOKV_UNROLL
        for (int i = 0; i < 8; ++i) {
            free[i] = given[i];
        }
        if (!Shape::kRotated || !valid() || column >= 2 * rotation.pairs) {
            return;
        }
        if (rotation.interleaved) {
            turnPairs(column, rotation, given, free);
        } else {
            turnHalves(column, rotation, given, free);
        }
    }

private:
    ECOKV_DEVICE void read(std::int64_t step, Eight<T> (&to)[Shape::kParts]) const {
        const std::int64_t token = step + simt::lane() / Shape::kLanes;
        ECOKV_UNROLL
        for (int part = 0; part < Shape::kParts; ++part) {
            to[part] = token < m_end ? readEight<Shape::kWide>(m_keys.row(simt::blockY(), token),
                                                               Shape::column(part), m_keys.dim)
                                     : Eight<T>{};
        }
    }

    ECOKV_DEVICE void turnPairs(int column, const DeviceRotation& rotation, const float (&given)[8],
                                float (&free)[8]) const {
        const float* turn = rotation.turns + token() * 2 * rotation.pairs + column;
        ECOKV_UNROLL
        for (int i = 0; i < 8; i += 2) {
            if (column + i < 2 * rotation.pairs) {
                free[i] = given[i] * turn[i] + given[i + 1] * turn[i + 1];
                free[i + 1] = given[i + 1] * turn[i] - given[i] * turn[i + 1];
            }
        }
    }

    ECOKV_DEVICE void turnHalves(int column, const DeviceRotation& rotation,
                                 const float (&given)[8], float (&free)[8]) const {
        const int half = rotation.pairs;
        const float* turns = rotation.turns + token() * 2 * half;
        const T* row = key();
        if (Shape::kWide && half % 8 == 0) { // the partners lie together
            const bool first = column < half;
            float partner[8];
            readEight<true>(row, first ? column + half : column - half, m_keys.dim).unpack(partner);
            const float* turn = turns + 2 * (first ? column : column - half);
            ECOKV_UNROLL
            for (int i = 0; i < 8; ++i) {
                const float across = partner[i] * turn[2 * i + 1];
                free[i] = given[i] * turn[2 * i] + (first ? across : -across);
            }
            return;
        }
        ECOKV_UNROLL
        for (int i = 0; i < 8; ++i) {
            if (column + i < 2 * half) {
                const bool first = column + i < half;
                const int pair = first ? column + i : column + i - half;
                const float across = toFloat(row[first ? pair + half : pair]) * turns[2 * pair + 1];
                free[i] = given[i] * turns[2 * pair] + (first ? across : -across);
            }
        }
    }

    const Rows<T>& m_keys;
    std::int64_t m_end, m_step, m_stride;
    Eight<T> m_now[Shape::kParts], m_next[Shape::kParts];
};

} // namespace ecokv::kernels::cuda
