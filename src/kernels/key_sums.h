#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Key statistics of growing and shrinking ranges of the same keys: the sums over whole blocks of
// tokens are kept, so that another end of the range costs one pass over the keys instead of two.
// Blocks are those that keyStatistics() itself adds up in order: the numbers are the same to the
// last bit. CPU only; one thread at a time.

#include "kernels/key_statistics.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ecokv::kernels {

class KeySums {
public:
    static constexpr std::int64_t kBlockTokens = 512;

    /// Of keys [kvHead, token, dim] that always begin with the same token; `turned`: un-rotated.
    KeySums(std::int64_t kvHeads, std::int64_t tokens, std::int64_t dim, bool turned);

    std::int64_t kvHeads() const { return m_kvHeads; }
    std::int64_t vectorSize() const { return m_vectorSize; } ///< doubles of one block
    std::int64_t blocks() const { return m_blocks; }         ///< held of every head
    std::int64_t capacity() const { return m_capacity; }     ///< blocks of every head, at most
    void setBlocks(std::int64_t blocks) { m_blocks = blocks; }
    std::size_t bytes() const;

    /// Of one block: vector sums, then norms, squares, non-zero keys; [kBlockTokens] norms.
    struct Block {
        double* vectors = nullptr;
        double* scalars = nullptr; ///< [3]
        float* norm = nullptr;
    };
    Block block(std::int64_t kvHead, std::int64_t index);

private:
    std::int64_t m_kvHeads, m_vectorSize, m_capacity;
    std::int64_t m_blocks = 0;
    std::vector<double> m_vectors, m_scalars;
    std::vector<float> m_norm;
};

/// keyStatistics() of host tensors; reads whole blocks that `sums` holds once only, and adds new
/// ones to it. A `sums` made for other shapes is BadShape.
Status keyStatistics(const KeyStatisticsInput& input, const KeyStatisticsOutput& output,
                     KeySums& sums);

} // namespace ecokv::kernels
