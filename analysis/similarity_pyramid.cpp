// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/similarity_pyramid.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ecokv::analysis {

namespace {

constexpr std::int64_t kFan = 4;         ///< finer blocks in one block of the stored sums
constexpr std::int64_t kColumnTile = 64; ///< columns whose means stay in the cache

std::size_t at(std::int64_t index) {
    return static_cast<std::size_t>(index);
}

/// out[column] = row . columns, for means [dim, kColumnTile] one component after the other.
void multiply(const float* row, const float* columns, std::int64_t dim, float* out) {
    std::fill_n(out, kColumnTile, 0.0F);
    for (std::int64_t i = 0; i < dim; ++i) {
        const float factor = row[i];
        const float* from = columns + i * kColumnTile;
        for (std::int64_t column = 0; column < kColumnTile; ++column) {
            out[column] += factor * from[column];
        }
    }
}

} // namespace

SimilarityPyramid::SimilarityPyramid(std::vector<float> keys, std::int64_t dim)
    : m_tokens(dim > 0 ? static_cast<std::int64_t>(keys.size()) / dim : 0), m_dim(dim),
      m_keys(std::move(keys)) {
    if (dim <= 0 || m_tokens * dim != static_cast<std::int64_t>(m_keys.size())) {
        throwInternal(fmt::format("{} numbers are no keys of {} dimensions.", m_keys.size(), dim));
    }
    sanitise();
    while (blocks(m_levels - 1) > 1) {
        ++m_levels;
    }
    for (std::int64_t size = kFan; size < kFan * m_tokens && m_tokens > 1; size *= kFan) {
        m_sums.push_back(m_sums.empty() ? sumTokens() : sumBlocks(m_sums.back()));
    }
}

/// Zero rows for what is not finite; norms and centre.
void SimilarityPyramid::sanitise() {
    m_norms.resize(at(m_tokens));
    std::vector<double> centre(at(m_dim), 0.0);
    for (std::int64_t token = 0; token < m_tokens; ++token) {
        float* key = m_keys.data() + token * m_dim;
        if (!std::all_of(key, key + m_dim, [](float value) { return std::isfinite(value); })) {
            std::fill_n(key, m_dim, 0.0F);
        }
        double square = 0;
        for (std::int64_t i = 0; i < m_dim; ++i) {
            square += static_cast<double>(key[i]) * static_cast<double>(key[i]);
            centre[at(i)] += static_cast<double>(key[i]);
        }
        m_norms[at(token)] = static_cast<float>(std::sqrt(square));
    }
    for (const double sum : centre) {
        m_centre.push_back(
            static_cast<float>(sum / static_cast<double>(std::max<std::int64_t>(1, m_tokens))));
    }
}

/// Adds u or k - centre of one token to `sum` [dim], and |k - centre|^2 to `square`.
void SimilarityPyramid::addToken(std::int64_t token, SimilarityMetric metric, double* sum,
                                 double& square) const {
    const float* key = m_keys.data() + token * m_dim;
    if (metric == SimilarityMetric::Cosine) {
        const auto norm = static_cast<double>(m_norms[at(token)]);
        for (std::int64_t i = 0; norm > 0 && i < m_dim; ++i) {
            sum[i] += static_cast<double>(key[i]) / norm;
        }
        return;
    }
    for (std::int64_t i = 0; i < m_dim; ++i) {
        const double offset = static_cast<double>(key[i]) - static_cast<double>(m_centre[at(i)]);
        sum[i] += offset;
        square += offset * offset;
    }
}

SimilarityPyramid::Level SimilarityPyramid::sumTokens() const {
    const std::int64_t count = (m_tokens + kFan - 1) / kFan;
    Level level;
    level.unit.resize(at(count * m_dim));
    level.centred.resize(at(count * m_dim));
    level.square.resize(at(count));
    std::vector<double> unit(at(m_dim)), centred(at(m_dim));
    for (std::int64_t block = 0; block < count; ++block) {
        std::fill(unit.begin(), unit.end(), 0.0);
        std::fill(centred.begin(), centred.end(), 0.0);
        const std::int64_t end = std::min((block + 1) * kFan, m_tokens);
        for (std::int64_t token = block * kFan; token < end; ++token) {
            double none = 0;
            addToken(token, SimilarityMetric::Cosine, unit.data(), none);
            addToken(token, SimilarityMetric::SquaredDistance, centred.data(),
                     level.square[at(block)]);
        }
        for (std::int64_t i = 0; i < m_dim; ++i) {
            level.unit[at(block * m_dim + i)] = static_cast<float>(unit[at(i)]);
            level.centred[at(block * m_dim + i)] = static_cast<float>(centred[at(i)]);
        }
    }
    return level;
}

SimilarityPyramid::Level SimilarityPyramid::sumBlocks(const Level& finer) const {
    const auto fine = static_cast<std::int64_t>(finer.square.size());
    const std::int64_t count = (fine + kFan - 1) / kFan;
    Level level;
    level.unit.resize(at(count * m_dim));
    level.centred.resize(at(count * m_dim));
    level.square.resize(at(count));
    const auto add = [&](const std::vector<float>& from, std::int64_t block, std::int64_t i) {
        double sum = 0;
        for (std::int64_t b = block * kFan; b < std::min((block + 1) * kFan, fine); ++b) {
            sum += static_cast<double>(from[at(b * m_dim + i)]);
        }
        return static_cast<float>(sum);
    };
    for (std::int64_t block = 0; block < count; ++block) {
        for (std::int64_t i = 0; i < m_dim; ++i) {
            level.unit[at(block * m_dim + i)] = add(finer.unit, block, i);
            level.centred[at(block * m_dim + i)] = add(finer.centred, block, i);
        }
        for (std::int64_t b = block * kFan; b < std::min((block + 1) * kFan, fine); ++b) {
            level.square[at(block)] += finer.square[at(b)];
        }
    }
    return level;
}

std::int64_t SimilarityPyramid::blocks(int level) const {
    const std::int64_t size = std::int64_t{1} << level;
    return (m_tokens + size - 1) / size;
}

int SimilarityPyramid::levelFor(std::int64_t most) const {
    int level = 0;
    while (level + 1 < m_levels && blocks(level) > most) {
        ++level;
    }
    return level;
}

/// A block of 2^level tokens: of stored blocks of 4^(level / 2), one or two.
void SimilarityPyramid::meanOf(SimilarityMetric metric, int level, std::int64_t block,
                               BlockMean& mean) const {
    std::vector<double> sum(at(m_dim), 0.0);
    double square = 0;
    const std::int64_t parts = level % 2 == 0 ? 1 : 2;
    const std::int64_t begin = block * parts;
    for (std::int64_t part = begin; part < begin + parts; ++part) {
        if (level < 2) {
            if (part < m_tokens) {
                addToken(part, metric, sum.data(), square);
            }
            continue;
        }
        const Level& stored = m_sums[at(level / 2 - 1)];
        if (part >= static_cast<std::int64_t>(stored.square.size())) {
            continue;
        }
        const auto& from = metric == SimilarityMetric::Cosine ? stored.unit : stored.centred;
        for (std::int64_t i = 0; i < m_dim; ++i) {
            sum[at(i)] += static_cast<double>(from[at(part * m_dim + i)]);
        }
        square += stored.square[at(part)];
    }
    const std::int64_t first = block << level;
    const auto count = static_cast<double>(std::min((block + 1) << level, m_tokens) - first);
    for (std::int64_t i = 0; i < m_dim; ++i) {
        mean.vector[i] = static_cast<float>(sum[at(i)] / count);
    }
    mean.square = square / count;
}

std::vector<float> SimilarityPyramid::tiles(const TileRequest& request) const {
    const std::int64_t count =
        request.level >= 0 && request.level < m_levels ? blocks(request.level) : -1;
    if (count < 0 || request.firstRow < 0 || request.rows < 0 || request.firstColumn < 0 ||
        request.columns < 0 || request.firstRow + request.rows > count ||
        request.firstColumn + request.columns > count) {
        throwUsage(fmt::format("Tiles {}+{} x {}+{} of level {} lie outside {} tokens.",
                               request.firstRow, request.rows, request.firstColumn, request.columns,
                               request.level, m_tokens));
    }
    std::vector<float> rows(at(request.rows * m_dim));
    std::vector<double> rowSquares(at(request.rows));
    for (std::int64_t row = 0; row < request.rows; ++row) {
        BlockMean mean{rows.data() + row * m_dim};
        meanOf(request.metric, request.level, request.firstRow + row, mean);
        rowSquares[at(row)] = mean.square;
    }
    std::vector<float> result(at(request.rows * request.columns));
    const bool cosine = request.metric == SimilarityMetric::Cosine;
    const std::int64_t strips = (request.columns + kColumnTile - 1) / kColumnTile;
#pragma omp parallel for schedule(static) if (request.rows * request.columns * m_dim > (1 << 20))
    for (std::int64_t strip = 0; strip < strips; ++strip) {
        const std::int64_t first = strip * kColumnTile;
        const std::int64_t width = std::min(kColumnTile, request.columns - first);
        std::vector<float> column(at(m_dim)), columns(at(m_dim * kColumnTile), 0.0F);
        std::vector<double> squares(at(kColumnTile));
        for (std::int64_t c = 0; c < width; ++c) {
            BlockMean mean{column.data()};
            meanOf(request.metric, request.level, request.firstColumn + first + c, mean);
            squares[at(c)] = mean.square;
            for (std::int64_t i = 0; i < m_dim; ++i) {
                columns[at(i * kColumnTile + c)] = column[at(i)];
            }
        }
        float products[kColumnTile];
        for (std::int64_t row = 0; row < request.rows; ++row) {
            multiply(rows.data() + row * m_dim, columns.data(), m_dim, products);
            float* out = result.data() + row * request.columns + first;
            for (std::int64_t c = 0; c < width; ++c) {
                const double apart =
                    rowSquares[at(row)] + squares[at(c)] - 2 * static_cast<double>(products[c]);
                out[c] = cosine ? products[c] : static_cast<float>(std::max(0.0, apart));
            }
        }
    }
    return result;
}

std::size_t SimilarityPyramid::bytes() const {
    std::size_t bytes =
        (m_keys.capacity() + m_norms.capacity() + m_centre.capacity()) * sizeof(float);
    for (const Level& level : m_sums) {
        bytes += (level.unit.capacity() + level.centred.capacity()) * sizeof(float) +
                 level.square.capacity() * sizeof(double);
    }
    return bytes;
}

} // namespace ecokv::analysis
