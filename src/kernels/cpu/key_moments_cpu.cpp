// SPDX-License-Identifier: GPL-3.0-or-later
// A head is unpacked to fp32 with the tokens of a group side by side; then sums and one symmetric
// product per block, un-rotation in place, and the product again. Heads go to threads.
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
constexpr std::int64_t kUnpackedBytes = 32 << 20;
constexpr std::int64_t kVectors = 4; ///< key, unit, un-rotated key and unit

/// The work space for one head at a time.
class HeadMoments {
public:
    explicit HeadMoments(const KeyMomentsPlan::Data& plan)
        : m_plan(plan), m_dim(plan.dim), m_padded(paddedDim(m_dim)), m_rows(plan.tokens * m_padded),
          m_norm(plan.tokens), m_vectors(kVectors * m_padded), m_mean(m_padded),
          m_scatter(m_padded * m_padded), m_scratch(kScatterRows * m_padded),
          m_product(m_padded * m_padded) {}

    /// `post` and `pre` [group] of one head; false where the keys leave the range of fp32 squares.
    bool measure(const TensorView& keys, std::int64_t head, KeyMoments* post, KeyMoments* pre) {
        for (std::int64_t row = 0; row < m_plan.tokens; ++row) {
            readRow(keys, head, m_plan.tokenOfRow[static_cast<std::size_t>(row)],
                    m_rows.slot(row, m_padded));
        }
        for (const RowBlock& block : m_plan.blocks) {
            addSums(block, post, pre);
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
    RowSource rows() const { return {m_rows.data(), DType::F32, m_padded, m_dim}; }

    void addSums(const RowBlock& block, KeyMoments* post, KeyMoments* pre) {
        std::fill_n(m_vectors.data(), kVectors * m_padded, 0.0);
        BlockSums sums{.key = m_vectors.data(), .unit = m_vectors.slot(1, m_padded)};
        KeyBlock part;
        part.rows = rows();
        part.begin = block.begin;
        part.end = block.end;
        if (pre != nullptr) {
            sums.turnedKey = m_vectors.slot(2, m_padded);
            sums.turnedUnit = m_vectors.slot(3, m_padded);
            setRotation(part, &m_plan.rotation, m_plan.angles);
        }
        part.norm = m_norm.data();
        part.scratch = m_scratch.data();
        accumulateBlock(part, sums);
        collectSums(block, sums, m_vectors.data(), post[block.group]);
        if (pre != nullptr) {
            const auto scaling = static_cast<double>(m_plan.rotation.attentionScaling);
            sums.norms = part.ownLengths ? sums.turnedNorms : sums.norms / scaling;
            sums.squares =
                part.ownLengths ? sums.turnedSquares : sums.squares / (scaling * scaling);
            collectSums(block, sums, m_vectors.slot(2, m_padded), pre[block.group]);
        }
    }

    /// Adds a block's sums to its group; `vectors` [2, padded] key and unit.
    void collectSums(const RowBlock& block, const BlockSums& sums, const double* vectors,
                     KeyMoments& moments) const {
        moments.tokens += block.end - block.begin;
        moments.nonZero += sums.nonZero;
        moments.norms += sums.norms;
        moments.squaredNorms += sums.squares;
        for (std::int64_t i = 0; i < m_dim; ++i) {
            moments.key[static_cast<std::size_t>(i)] += vectors[i];
            moments.unit[static_cast<std::size_t>(i)] += vectors[m_padded + i];
        }
    }

    void unrotate() {
        const std::int64_t pairs = m_plan.angles.pairs();
        for (std::int64_t row = 0; row < m_plan.tokens; ++row) {
            unrotateRow(m_plan.rotation.style, pairs, m_plan.angles.cosines() + row * pairs,
                        m_plan.angles.sines() + row * pairs, m_rows.slot(row, m_padded));
        }
    }

    /// Scatter matrices of `moments` [group], whose sums are known.
    void measureScatter(KeyMoments* moments) {
        for (int group = 0; group < m_plan.groupCount; ++group) {
            KeyMoments& sums = moments[group];
            if (sums.tokens == 0) {
                continue;
            }
            std::transform(sums.key.begin(), sums.key.end(), m_mean.data(), [&](double sum) {
                return static_cast<float>(sum / static_cast<double>(sums.tokens));
            });
            std::fill_n(m_scatter.data(), m_padded * m_padded, 0.0);
            for (const RowBlock& block : m_plan.blocks) {
                if (block.group == group) {
                    addScatter({.rows = rows(),
                                .begin = block.begin,
                                .end = block.end,
                                .centred = m_scratch.data(),
                                .product = m_product.data()},
                               m_mean.data(), m_scatter.data());
                }
            }
            takeUpper(sums.scatter);
        }
    }

    /// The upper triangle of the padded matrix, mirrored.
    void takeUpper(std::vector<double>& matrix) const {
        for (std::int64_t i = 0; i < m_dim; ++i) {
            for (std::int64_t j = 0; j < m_dim; ++j) {
                matrix[static_cast<std::size_t>(i * m_dim + j)] =
                    m_scatter.data()[std::min(i, j) * m_padded + std::max(i, j)];
            }
        }
    }

    const KeyMomentsPlan::Data& m_plan;
    std::int64_t m_dim, m_padded;
    Scratch<float> m_rows;     ///< [row, padded] the head in fp32
    Scratch<float> m_norm;     ///< [row]
    Scratch<double> m_vectors; ///< [kVectors, padded]
    Scratch<float> m_mean;     ///< [padded]
    Scratch<double> m_scatter; ///< [padded, padded]
    Scratch<float> m_scratch, m_product;
};

/// Heads measured side by side: as many as their unpacked keys may take memory.
std::int64_t headsAtOnce(const TensorView& keys) {
    const std::int64_t headBytes =
        keys.shape[1] * paddedDim(keys.shape[2]) * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t most = std::max<std::int64_t>(1, kUnpackedBytes / headBytes);
    return std::min({most, keys.shape[0], static_cast<std::int64_t>(maxThreads())});
}

} // namespace

Status keyMoments(const TensorView& keys, const KeyMomentsPlan& plan, KeyMomentsOutput& output) {
    const std::int64_t groups = plan.data().groupCount, heads = keys.shape[0];
    const std::int64_t atOnce = headsAtOnce(keys);
    std::vector<HeadMoments> spaces;
    spaces.reserve(static_cast<std::size_t>(atOnce));
    for (std::int64_t i = 0; i < atOnce; ++i) {
        spaces.emplace_back(plan.data());
    }
    std::vector<std::uint8_t> measured(static_cast<std::size_t>(heads));
    parallelFor(atOnce, 4 * keys.numel(), [&](std::int64_t share, int) {
        for (std::int64_t head = share; head < heads; head += atOnce) {
            measured[static_cast<std::size_t>(head)] =
                spaces[static_cast<std::size_t>(share)].measure(
                    keys, head, output.post.data() + head * groups,
                    output.pre.empty() ? nullptr : output.pre.data() + head * groups);
        }
    });
    for (std::int64_t head = 0; head < heads; ++head) {
        if (measured[static_cast<std::size_t>(head)] != 0) {
            continue;
        }
        KeyMomentsOutput exact; // huge or tiny keys: once more, in fp64
        const Status status =
            kernels::keyMoments(keys.slice(0, head, head + 1), plan, exact, Backend::Reference);
        if (status != Status::Ok) {
            return status;
        }
        std::copy(exact.post.begin(), exact.post.end(), output.post.begin() + head * groups);
        std::copy(exact.pre.begin(), exact.pre.end(),
                  output.pre.begin() + (exact.pre.empty() ? 0 : head * groups));
    }
    return Status::Ok;
}

} // namespace ecokv::kernels::cpu
