// SPDX-License-Identifier: GPL-3.0-or-later
// One head at a time is unpacked to fp32 with the tokens of a group side by side; then sums and one
// symmetric product per block, un-rotation in place, and the product again. Blocks go to threads
// and are added in order.
#include "kernels/backends.h"
#include "kernels/cpu/key_blocks.h"
#include "kernels/cpu/scatter.h"
#include "kernels/moments_plan.h"
#include "kernels/row_access.h"

#include <algorithm>
#include <vector>

namespace ecokv::kernels::cpu {

namespace {

constexpr double kSmallestScale = 1e-20; ///< of mean |k|^2, for products in fp32
constexpr double kLargestScale = 1e30;
constexpr std::int64_t kVectors = 4; ///< key, unit, un-rotated key and unit

class HeadMoments {
public:
    HeadMoments(const TensorView& keys, const KeyMomentsPlan::Data& plan)
        : m_keys(keys), m_plan(plan), m_dim(plan.dim), m_padded(paddedDim(m_dim)),
          m_rows(plan.tokens * m_padded), m_norm(plan.tokens),
          m_vectors(blockCount() * kVectors * m_padded), m_mean(plan.groupCount * m_padded),
          m_scatter(blockCount() * m_padded * m_padded),
          m_sums(static_cast<std::size_t>(blockCount())),
          m_scratch(maxThreads() * kScatterRows * m_padded),
          m_product(maxThreads() * m_padded * m_padded) {}

    /// `post` and `pre` [group] of one head; false where the keys leave the range of fp32 squares.
    bool measure(std::int64_t head, KeyMoments* post, KeyMoments* pre) {
        unpack(head);
        addSums();
        for (std::int64_t index = 0; index < blockCount(); ++index) {
            collectSums(index, 0, post[block(index).group]);
            if (pre != nullptr) {
                collectSums(index, 2, pre[block(index).group]);
            }
        }
        for (int group = 0; group < m_plan.groupCount; ++group) {
            const KeyMoments& sums = post[group];
            const double scale = sums.squaredNorms / static_cast<double>(sums.tokens);
            if (sums.squaredNorms > 0 && !(scale > kSmallestScale && scale < kLargestScale)) {
                return false;
            }
        }
        measureScatter(post);
        if (pre != nullptr) {
            unrotate();
            measureScatter(pre);
        }
        return true;
    }

private:
    std::int64_t blockCount() const { return static_cast<std::int64_t>(m_plan.blocks.size()); }
    const RowBlock& block(std::int64_t index) const {
        return m_plan.blocks[static_cast<std::size_t>(index)];
    }
    RowSource rows() const { return {m_rows.data(), DType::F32, m_padded, m_dim}; }
    std::int64_t work() const { return m_plan.tokens * m_padded; }

    void unpack(std::int64_t head) {
        parallelFor(blockCount(), work(), [&](std::int64_t index, int) {
            for (std::int64_t row = block(index).begin; row < block(index).end; ++row) {
                readRow(m_keys, head, m_plan.tokenOfRow[static_cast<std::size_t>(row)],
                        m_rows.slot(row, m_padded));
            }
        });
    }

    void addSums() {
        std::fill_n(m_vectors.data(), blockCount() * kVectors * m_padded, 0.0);
        parallelFor(blockCount(), 4 * work(), [&](std::int64_t index, int thread) {
            double* vectors = m_vectors.slot(index, kVectors * m_padded);
            BlockSums& sums = m_sums[static_cast<std::size_t>(index)];
            sums = {.key = vectors, .unit = vectors + m_padded};
            KeyBlock part;
            part.rows = rows();
            part.begin = block(index).begin;
            part.end = block(index).end;
            if (m_plan.rotated) {
                sums.turnedKey = vectors + 2 * m_padded;
                sums.turnedUnit = vectors + 3 * m_padded;
                part.cosines = m_plan.angles.cosines();
                part.sines = m_plan.angles.sines();
                part.style = m_plan.rotation.style;
                part.scaling = m_plan.rotation.attentionScaling;
            }
            part.norm = m_norm.data();
            part.scratch = m_scratch.slot(thread, kScatterRows * m_padded);
            accumulateBlock(part, sums);
        });
    }

    /// Adds a block's sums to its group; `first` is 0 for the keys as given, 2 for un-rotated ones.
    void collectSums(std::int64_t index, std::int64_t first, KeyMoments& moments) const {
        const BlockSums& sums = m_sums[static_cast<std::size_t>(index)];
        const double shorter =
            first == 0 ? 1.0 : static_cast<double>(m_plan.rotation.attentionScaling);
        moments.tokens += block(index).end - block(index).begin;
        moments.nonZero += sums.nonZero;
        moments.norms += sums.norms / shorter;
        moments.squaredNorms += sums.squares / (shorter * shorter);
        const double* vectors = m_vectors.slot(index, kVectors * m_padded) + first * m_padded;
        for (std::int64_t i = 0; i < m_dim; ++i) {
            moments.key[static_cast<std::size_t>(i)] += vectors[i];
            moments.unit[static_cast<std::size_t>(i)] += vectors[m_padded + i];
        }
    }

    void unrotate() {
        const std::int64_t pairs = m_dim / 2;
        parallelFor(blockCount(), 4 * work(), [&](std::int64_t index, int) {
            for (std::int64_t row = block(index).begin; row < block(index).end; ++row) {
                unrotateRow(m_plan.rotation.style, pairs, m_plan.angles.cosines() + row * pairs,
                            m_plan.angles.sines() + row * pairs, m_rows.slot(row, m_padded));
            }
        });
    }

    /// Scatter matrices of `moments` [group], whose sums are known.
    void measureScatter(KeyMoments* moments) {
        for (int group = 0; group < m_plan.groupCount; ++group) {
            const KeyMoments& sums = moments[group];
            std::transform(sums.key.begin(), sums.key.end(), m_mean.slot(group, m_padded),
                           [&](double sum) {
                               const auto count = static_cast<double>(sums.tokens);
                               return static_cast<float>(sums.tokens > 0 ? sum / count : 0.0);
                           });
        }
        std::fill_n(m_scatter.data(), blockCount() * m_padded * m_padded, 0.0);
        parallelFor(blockCount(), work() * m_padded / 16, [&](std::int64_t index, int thread) {
            ScatterBlock part;
            part.rows = rows();
            part.begin = block(index).begin;
            part.end = block(index).end;
            part.centred = m_scratch.slot(thread, kScatterRows * m_padded);
            part.product = m_product.slot(thread, m_padded * m_padded);
            addScatter(part, m_mean.slot(block(index).group, m_padded),
                       m_scatter.slot(index, m_padded * m_padded));
        });
        for (std::int64_t index = 0; index < blockCount(); ++index) {
            addUpper(m_scatter.slot(index, m_padded * m_padded),
                     moments[block(index).group].scatter.data());
        }
        for (int group = 0; group < m_plan.groupCount; ++group) {
            mirrorUpper(moments[group].scatter.data());
        }
    }

    void addUpper(const double* from, double* to) const {
        for (std::int64_t i = 0; i < m_dim; ++i) {
            for (std::int64_t j = i; j < m_dim; ++j) {
                to[i * m_dim + j] += from[i * m_padded + j];
            }
        }
    }

    void mirrorUpper(double* matrix) const {
        for (std::int64_t i = 0; i < m_dim; ++i) {
            for (std::int64_t j = 0; j < i; ++j) {
                matrix[i * m_dim + j] = matrix[j * m_dim + i];
            }
        }
    }

    const TensorView& m_keys;
    const KeyMomentsPlan::Data& m_plan;
    std::int64_t m_dim, m_padded;
    Scratch<float> m_rows;     ///< [row, padded] the head in fp32
    Scratch<float> m_norm;     ///< [row]
    Scratch<double> m_vectors; ///< [block, kVectors, padded]
    Scratch<float> m_mean;     ///< [group, padded]
    Scratch<double> m_scatter; ///< [block, padded, padded]
    std::vector<BlockSums> m_sums;
    Scratch<float> m_scratch, m_product; ///< per thread
};

} // namespace

Status keyMoments(const TensorView& keys, const KeyMomentsPlan& plan, KeyMomentsOutput& output) {
    const int groups = plan.data().groupCount;
    HeadMoments moments(keys, plan.data());
    for (std::int64_t head = 0; head < keys.shape[0]; ++head) {
        KeyMoments* post = output.post.data() + head * groups;
        KeyMoments* pre = output.pre.empty() ? nullptr : output.pre.data() + head * groups;
        if (moments.measure(head, post, pre)) {
            continue;
        }
        KeyMomentsOutput exact; // huge or tiny keys: once more, in fp64
        const Status status =
            kernels::keyMoments(keys.slice(0, head, head + 1), plan, exact, Backend::Reference);
        if (status != Status::Ok) {
            return status;
        }
        std::copy(exact.post.begin(), exact.post.end(), post);
        std::copy(exact.pre.begin(), exact.pre.end(), pre);
    }
    return Status::Ok;
}

} // namespace ecokv::kernels::cpu
