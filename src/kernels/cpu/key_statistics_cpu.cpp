// SPDX-License-Identifier: GPL-3.0-or-later
// Two passes over the keys: sums, then distances to the centre. Heads go in groups that stay in the
// caches between the passes; blocks of tokens go to threads.
#include "kernels/cpu/key_statistics_cpu.h"

#include "kernels/backends.h"
#include "kernels/cpu/key_blocks.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rotation_table.h"
#include "kernels/head_statistics.h"
#include "kernels/row_access.h"

#include <algorithm>
#include <vector>

namespace ecokv::kernels::cpu {

namespace {

constexpr std::int64_t kBlock = KeySums::kBlockTokens;
constexpr std::int64_t kGroupBytes = 2 << 20;

/// A row widened to fp64, zeros if it is not finite, un-rotated if the block asks for it.
std::vector<double> wideRow(const KeyBlock& block, std::int64_t token, bool turned) {
    const std::int64_t dim = block.rows.dim;
    TensorView view{const_cast<void*>(block.rows.data), block.rows.dtype, {}, 3, {}, {}};
    view.shape = {1, token + 1, dim, 0};
    view.strides = {0, block.rows.rowStride, 1, 0};
    std::vector<float> narrow(static_cast<std::size_t>(dim));
    readRow(view, 0, token, narrow.data());
    std::vector<double> row(narrow.begin(), narrow.end());
    if (turned) {
        const std::int64_t pairs = block.pairs;
        const float* cosines = block.cosines + token * pairs;
        const float* sines = block.sines + token * pairs;
        const std::vector<double> wideCosines(cosines, cosines + pairs);
        const std::vector<double> wideSines(sines, sines + pairs);
        unrotateRow(block.style, pairs, wideCosines.data(), wideSines.data(), row.data());
    }
    return row;
}

double norm(const std::vector<double>& row) {
    double square = 0;
    for (const double value : row) {
        square += value * value;
    }
    return std::sqrt(square);
}

void addRow(const std::vector<double>& row, double length, double* sum, double* unit) {
    for (std::size_t i = 0; i < row.size(); ++i) {
        sum[i] += row[i];
        unit[i] += row[i] / length;
    }
}

double squaredLength(const double* vector, std::int64_t dim) {
    double square = 0;
    for (std::int64_t i = 0; i < dim; ++i) {
        square += vector[i] * vector[i];
    }
    return square;
}

/// One group of heads: its blocks, the centres between the passes, the statistics.
class HeadGroup {
public:
    HeadGroup(const KeyStatisticsInput& input, const KeyStatisticsOutput& output,
              const RotationTable& table, std::int64_t heads, KeySums* known)
        : m_input(input), m_output(output), m_table(table), m_known(known),
          m_tokens(input.keys.shape[1]), m_dim(input.keys.shape[2]), m_padded(paddedDim(m_dim)),
          m_vectorCount(input.rotation != nullptr ? 4 : 2),
          m_blocks((m_tokens + kBlock - 1) / kBlock), m_rows(maxThreads() * kRowsAtOnce * m_padded),
          m_vectors(heads * m_blocks * m_vectorCount * m_padded, Contents::Any),
          m_wide(heads * m_vectorCount * m_padded), m_narrow(heads * 2 * m_padded),
          m_sums(static_cast<std::size_t>(heads * m_blocks)) {}

    void run(std::int64_t firstHead, std::int64_t heads) {
        std::fill_n(m_vectors.data(), heads * m_blocks * m_vectorCount * m_padded, 0.0);
        parallelFor(heads * m_blocks, heads * m_tokens * m_dim, [&](std::int64_t task, int thread) {
            BlockSums& sums = m_sums[static_cast<std::size_t>(task)];
            double* vectors = m_vectors.slot(task, m_vectorCount * m_padded);
            sums = {vectors, vectors + m_padded};
            if (m_vectorCount > 2) {
                sums.turnedKey = vectors + 2 * m_padded;
                sums.turnedUnit = vectors + 3 * m_padded;
            }
            if (isKnown(task)) {
                recall(firstHead, task, sums);
            } else {
                accumulateBlock(block(firstHead, task, thread), sums);
            }
        });
        if (m_known != nullptr) {
            remember(firstHead, heads);
        }
        for (std::int64_t local = 0; local < heads; ++local) {
            combine(local, m_output.heads[firstHead + local]);
        }
        parallelFor(heads * m_blocks, heads * m_tokens * m_dim, [&](std::int64_t task, int thread) {
            const std::int64_t head = firstHead + task / m_blocks;
            measureBlock(block(firstHead, task, thread), centre(task / m_blocks),
                         m_output.cosine + head * m_tokens, m_output.euclid + head * m_tokens);
        });
    }

private:
    /// Whole blocks only: the last one ends where the range ends.
    bool isKnown(std::int64_t task) const {
        return m_known != nullptr && task % m_blocks < std::min(m_known->blocks(), wholeBlocks());
    }
    std::int64_t wholeBlocks() const { return m_tokens / kBlock; }

    float* normOf(std::int64_t head, std::int64_t index) const {
        return m_output.norm + head * m_tokens + index * kBlock;
    }

    void recall(std::int64_t firstHead, std::int64_t task, BlockSums& sums) {
        const std::int64_t head = firstHead + task / m_blocks;
        const KeySums::Block kept = m_known->block(head, task % m_blocks);
        std::copy_n(kept.vectors, m_known->vectorSize(), sums.key);
        sums.norms = kept.scalars[0];
        sums.squares = kept.scalars[1];
        sums.nonZero = static_cast<std::int64_t>(kept.scalars[2]);
        std::copy_n(kept.norm, kBlock, normOf(head, task % m_blocks));
    }

    void remember(std::int64_t firstHead, std::int64_t heads) {
        for (std::int64_t local = 0; local < heads; ++local) {
            for (std::int64_t index = m_known->blocks(); index < wholeBlocks(); ++index) {
                const BlockSums& sums = m_sums[static_cast<std::size_t>(local * m_blocks + index)];
                const KeySums::Block kept = m_known->block(firstHead + local, index);
                std::copy_n(sums.key, m_known->vectorSize(), kept.vectors);
                kept.scalars[0] = sums.norms;
                kept.scalars[1] = sums.squares;
                kept.scalars[2] = static_cast<double>(sums.nonZero);
                std::copy_n(normOf(firstHead + local, index), kBlock, kept.norm);
            }
        }
    }

    KeyBlock block(std::int64_t firstHead, std::int64_t task, int thread) const {
        const std::int64_t head = firstHead + task / m_blocks;
        const std::int64_t begin = task % m_blocks * kBlock;
        KeyBlock result;
        result.rows = rowsOfHead(m_input.keys, head);
        result.begin = begin;
        result.end = std::min(begin + kBlock, m_tokens);
        setRotation(result, m_input.rotation, m_table);
        result.norm = m_output.norm + head * m_tokens;
        result.scratch = m_rows.slot(thread, kRowsAtOnce * m_padded);
        return result;
    }

    HeadCentre centre(std::int64_t local) const {
        const double* wide = m_wide.slot(local, m_vectorCount * m_padded);
        const std::int64_t first = m_input.rotation != nullptr ? 2 : 0;
        const float* narrow = m_narrow.slot(local, 2 * m_padded);
        return {narrow + m_padded, narrow, wide + (first + 1) * m_padded, wide + first * m_padded};
    }

    /// Adds the blocks of one head in order and takes the means.
    void combine(std::int64_t local, HeadStatistics& statistics) {
        HeadSums total;
        total.tokens = m_tokens;
        double* wide = m_wide.slot(local, m_vectorCount * m_padded);
        std::fill_n(wide, m_vectorCount * m_padded, 0.0);
        for (std::int64_t b = 0; b < m_blocks; ++b) {
            const std::int64_t task = local * m_blocks + b;
            const BlockSums& sums = m_sums[static_cast<std::size_t>(task)];
            total.norms += sums.norms;
            total.squaredNorms += sums.squares;
            total.nonZero += sums.nonZero;
            const double* vectors = m_vectors.slot(task, m_vectorCount * m_padded);
            for (std::int64_t i = 0; i < m_vectorCount * m_padded; ++i) {
                wide[i] += vectors[i];
            }
        }
        for (std::int64_t i = 0; i < m_vectorCount * m_padded; ++i) {
            wide[i] /= static_cast<double>(std::max<std::int64_t>(1, m_tokens));
        }
        total.centroidSquared = squaredLength(wide, m_dim);
        total.directionSquared = squaredLength(wide + m_padded, m_dim);
        statistics = finish(total);
        const double* measured = wide + (m_input.rotation != nullptr ? 2 * m_padded : 0);
        std::transform(measured, measured + 2 * m_padded, m_narrow.slot(local, 2 * m_padded),
                       [](double value) { return static_cast<float>(value); });
    }

    const KeyStatisticsInput& m_input;
    const KeyStatisticsOutput& m_output;
    const RotationTable& m_table;
    KeySums* m_known;
    std::int64_t m_tokens, m_dim, m_padded;
    std::int64_t m_vectorCount; ///< key, unit, and with a rotation un-rotated key and unit
    std::int64_t m_blocks;
    Scratch<float> m_rows;     ///< [thread, kRowsAtOnce, padded]
    Scratch<double> m_vectors; ///< [head, block, m_vectorCount, padded]
    Scratch<double> m_wide;    ///< [head, m_vectorCount, padded] means
    Scratch<float> m_narrow;   ///< [head, 2, padded] centroid and direction of the geometry
    std::vector<BlockSums> m_sums;
};

} // namespace

void setRotation(KeyBlock& block, const Rotation* rotation, const RotationTable& table) {
    if (rotation == nullptr) {
        return;
    }
    block.cosines = table.cosines();
    block.sines = table.sines();
    block.pairs = table.pairs();
    block.style = rotation->style;
    block.scaling = rotation->attentionScaling;
    block.ownLengths = rotation->scalesPartOf(block.rows.dim);
}

void accumulateUnusualRow(const KeyBlock& block, std::int64_t token, BlockSums& sums) {
    const std::vector<double> row = wideRow(block, token, false);
    const double length = norm(row);
    block.norm[token] = saturated(length);
    if (length == 0) {
        return;
    }
    sums.norms += length;
    sums.squares += length * length;
    ++sums.nonZero;
    addRow(row, length, sums.key, sums.unit);
    if (block.cosines != nullptr) {
        const std::vector<double> turned = wideRow(block, token, true);
        const double own = norm(turned);
        sums.turnedNorms += block.ownLengths ? own : 0.0;
        sums.turnedSquares += block.ownLengths ? own * own : 0.0;
        addRow(turned, own, sums.turnedKey, sums.turnedUnit);
    }
}

void measureUnusualRow(const KeyBlock& block, std::int64_t token, const HeadCentre& centre,
                       float* cosine, float* euclid) {
    std::vector<double> row = wideRow(block, token, block.cosines != nullptr);
    const double length = norm(row);
    double dot = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
        dot += length > 0 ? row[i] / length * centre.directionWide[i] : 0.0;
        row[i] -= centre.centroidWide[i];
    }
    *cosine = static_cast<float>(dot);
    *euclid = saturated(norm(row));
}

Status keyStatistics(const KeyStatisticsInput& input, const KeyStatisticsOutput& output) {
    return keyStatistics(input, output, nullptr);
}

Status keyStatistics(const KeyStatisticsInput& input, const KeyStatisticsOutput& output,
                     KeySums* known) {
    const TensorView& keys = input.keys;
    const std::int64_t heads = keys.shape[0];
    const std::int64_t headBytes =
        keys.shape[1] * keys.shape[2] * static_cast<std::int64_t>(dtypeSize(keys.dtype));
    const std::int64_t atOnce = std::clamp<std::int64_t>(
        kGroupBytes / std::max<std::int64_t>(1, headBytes), 1, std::max<std::int64_t>(1, heads));
    const RotationTable table(input.rotation, keys.shape[1], keys.shape[2]);
    HeadGroup group(input, output, table, atOnce, known);
    for (std::int64_t first = 0; first < heads; first += atOnce) {
        group.run(first, std::min(atOnce, heads - first));
    }
    if (known != nullptr) {
        known->setBlocks(std::max(known->blocks(), keys.shape[1] / kBlock));
    }
    return Status::Ok;
}

} // namespace ecokv::kernels::cpu
