#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Token x token similarity of one head at any zoom, without ever holding a token x token matrix:
// the mean over a tile of u_i . u_j is the product of two mean vectors, and the mean of |k_i -
// k_j|^2 follows from means and mean squares, so that tiles are exact mean pooling at every level.
// Const calls from any thread.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ecokv::analysis {

enum class SimilarityMetric : std::uint8_t {
    Cosine,          ///< u_i . u_j, -1..1; a zero-norm key has u = 0
    SquaredDistance, ///< |k_i - k_j|^2
};

/// A rectangle of tiles at one level; rows and columns count blocks of 2^level tokens.
struct TileRequest {
    SimilarityMetric metric = SimilarityMetric::Cosine;
    int level = 0;
    std::int64_t firstRow = 0, rows = 0;
    std::int64_t firstColumn = 0, columns = 0;
};

class SimilarityPyramid {
public:
    /// `keys` [token, dim] f32. A key that is not finite counts as the zero key.
    SimilarityPyramid(std::vector<float> keys, std::int64_t dim);

    std::int64_t tokens() const { return m_tokens; }
    /// Levels 0 .. levels() - 1; the last one is a single block.
    int levels() const { return m_levels; }
    /// Blocks of 2^level tokens; the last one may be shorter.
    std::int64_t blocks(int level) const;
    /// The finest level with at most `most` blocks: what a view of `most` pixels needs.
    int levelFor(std::int64_t most) const;

    /// [row, column] mean over the token pairs of each tile, pairs of a token with itself included.
    /// Throws Error{Usage} for a level or rectangle outside.
    std::vector<float> tiles(const TileRequest& request) const;

    /// Memory of keys and block sums: about 1.7 x the keys' own.
    std::size_t bytes() const;

private:
    /// Sums over blocks of 4^n tokens, [block, dim] and [block]; levels between are added up when
    /// asked for.
    struct Level {
        std::vector<float> unit;    ///< sum of u
        std::vector<float> centred; ///< sum of k - m_centre
        std::vector<double> square; ///< sum of |k - m_centre|^2
    };

    struct BlockMean {
        float* vector = nullptr; ///< [dim] mean of u or of k - m_centre
        double square = 0;       ///< mean of |k - m_centre|^2
    };

    void sanitise();
    Level sumTokens() const;
    Level sumBlocks(const Level& finer) const;
    void addToken(std::int64_t token, SimilarityMetric metric, double* sum, double& square) const;
    void meanOf(SimilarityMetric metric, int level, std::int64_t block, BlockMean& mean) const;

    std::int64_t m_tokens, m_dim;
    int m_levels = 1;
    std::vector<float> m_keys;   ///< [token, dim]
    std::vector<float> m_norms;  ///< [token] |k|
    std::vector<float> m_centre; ///< [dim] mean key: distances are small against it in alike heads
    std::vector<Level> m_sums;   ///< [n - 1]: blocks of 4^n tokens, n = 1, 2, ...
};

} // namespace ecokv::analysis
