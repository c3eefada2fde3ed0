// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/similarity_pyramid.h"
#include "base/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <unistd.h>

namespace ecokv::analysis {

namespace {

std::vector<float> randomKeys(std::int64_t tokens, std::int64_t dim, unsigned seed, float shift) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> keys(static_cast<std::size_t>(tokens * dim));
    for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i] = normal(random) + (i % 3 == 0 ? shift : 0.0F);
    }
    return keys;
}

/// Mean pooling of the full matrix, pair by pair in fp64.
double pooled(const std::vector<float>& keys, std::int64_t dim, SimilarityMetric metric,
              std::int64_t size, std::int64_t row, std::int64_t column) {
    const auto tokens = static_cast<std::int64_t>(keys.size()) / dim;
    double sum = 0, pairs = 0;
    for (std::int64_t i = row * size; i < std::min((row + 1) * size, tokens); ++i) {
        for (std::int64_t j = column * size; j < std::min((column + 1) * size, tokens); ++j) {
            double dot = 0, a = 0, b = 0, apart = 0;
            for (std::int64_t d = 0; d < dim; ++d) {
                const double x = keys[static_cast<std::size_t>(i * dim + d)];
                const double y = keys[static_cast<std::size_t>(j * dim + d)];
                dot += x * y;
                a += x * x;
                b += y * y;
                apart += (x - y) * (x - y);
            }
            const double cosine = a > 0 && b > 0 ? dot / std::sqrt(a * b) : 0;
            sum += metric == SimilarityMetric::Cosine ? cosine : apart;
            ++pairs;
        }
    }
    return sum / pairs;
}

std::size_t residentBytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0, resident = 0;
    file >> all >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

} // namespace

// 77 tokens: no level divides evenly. Cosines within 1e-6, squared distances within 1e-6 of the
// mean squared length.
TEST(SimilarityPyramid, isExactMeanPoolingAtEveryLevel) {
    constexpr std::int64_t kTokens = 77, kDim = 12;
    for (const float shift : {0.0F, 5.0F}) {
        const auto keys = randomKeys(kTokens, kDim, 3, shift);
        const SimilarityPyramid pyramid(keys, kDim);
        ASSERT_EQ(pyramid.levels(), 8); // 2^7 >= 77
        for (const auto metric : {SimilarityMetric::Cosine, SimilarityMetric::SquaredDistance}) {
            for (int level = 0; level < pyramid.levels(); ++level) {
                const std::int64_t count = pyramid.blocks(level);
                const auto tiles = pyramid.tiles({metric, level, 0, count, 0, count});
                for (std::int64_t i = 0; i < count * count; ++i) {
                    const double wanted =
                        pooled(keys, kDim, metric, std::int64_t{1} << level, i / count, i % count);
                    const double scale =
                        metric == SimilarityMetric::Cosine ? 1.0 : kDim * (1.0 + shift * shift);
                    ASSERT_NEAR(tiles[static_cast<std::size_t>(i)], wanted, 1e-6 * scale)
                        << "level " << level << " tile " << i << " shift " << shift;
                }
            }
        }
    }
}

TEST(SimilarityPyramid, aRectangleIsAPartOfTheWhole) {
    const SimilarityPyramid pyramid(randomKeys(301, 16, 9, 1), 16);
    for (const int level : {0, 1, 2, 3}) {
        const std::int64_t count = pyramid.blocks(level);
        const auto all = pyramid.tiles({SimilarityMetric::Cosine, level, 0, count, 0, count});
        const auto part = pyramid.tiles({SimilarityMetric::Cosine, level, 3, 20, 7, count - 7});
        for (std::int64_t row = 0; row < 20; ++row) {
            for (std::int64_t column = 0; column < count - 7; ++column) {
                ASSERT_EQ(part[static_cast<std::size_t>(row * (count - 7) + column)],
                          all[static_cast<std::size_t>((row + 3) * count + column + 7)]);
            }
        }
    }
}

TEST(SimilarityPyramid, theTopIsTheMeanOverAllPairs) {
    // Closed form: the mean cosine of all pairs is |mu|^2; two opposite unit keys have mean 0.
    const SimilarityPyramid opposite({1, 0, -1, 0}, 2);
    ASSERT_EQ(opposite.levels(), 2);
    EXPECT_EQ(opposite.tiles({SimilarityMetric::Cosine, 1, 0, 1, 0, 1})[0], 0.0F);
    EXPECT_EQ(opposite.tiles({SimilarityMetric::SquaredDistance, 1, 0, 1, 0, 1})[0], 2.0F);
    EXPECT_EQ(opposite.tiles({SimilarityMetric::Cosine, 0, 0, 1, 1, 1})[0], -1.0F);
    EXPECT_EQ(opposite.tiles({SimilarityMetric::SquaredDistance, 0, 0, 1, 1, 1})[0], 4.0F);
}

TEST(SimilarityPyramid, zeroAndDamagedKeysAreZeroKeys) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const SimilarityPyramid pyramid({3, 4, nan, 1, 0, 0}, 2);
    const auto cosine = pyramid.tiles({SimilarityMetric::Cosine, 0, 0, 3, 0, 3});
    EXPECT_NEAR(cosine[0], 1, 1e-6);
    for (const std::size_t at : {1U, 2U, 4U, 8U}) {
        EXPECT_EQ(cosine[at], 0.0F);
    }
    const auto apart = pyramid.tiles({SimilarityMetric::SquaredDistance, 0, 0, 3, 0, 3});
    EXPECT_NEAR(apart[1], 25, 1e-4);
    EXPECT_NEAR(apart[5], 0, 1e-5);
}

TEST(SimilarityPyramid, theLevelForAViewHasNoMoreBlocksThanPixels) {
    const SimilarityPyramid pyramid(randomKeys(1000, 4, 1, 0), 4);
    EXPECT_EQ(pyramid.levelFor(5000), 0);
    EXPECT_EQ(pyramid.levelFor(1000), 0);
    EXPECT_EQ(pyramid.levelFor(999), 1);
    EXPECT_EQ(pyramid.levelFor(100), 4); // 63 blocks of 16
    EXPECT_EQ(pyramid.levelFor(0), pyramid.levels() - 1);
}

TEST(SimilarityPyramid, oneTokenIsOneTileAndOutsideIsRefused) {
    const SimilarityPyramid one({2, 0}, 2);
    EXPECT_EQ(one.levels(), 1);
    EXPECT_EQ(one.tiles({SimilarityMetric::Cosine, 0, 0, 1, 0, 1})[0], 1.0F);
    EXPECT_THROW(one.tiles({SimilarityMetric::Cosine, 1, 0, 1, 0, 1}), Error);
    EXPECT_THROW(one.tiles({SimilarityMetric::Cosine, 0, 0, 2, 0, 1}), Error);
    EXPECT_THROW(one.tiles({SimilarityMetric::Cosine, -1, 0, 1, 0, 1}), Error);
    EXPECT_THROW(SimilarityPyramid({1, 2, 3}, 2), Error);
}

// performance.md Q2: a 32k x 32k view in at most 2.1 x the head's keys, an N^2 array would be 4 GB.
TEST(SimilarityPyramid, of32kTokensTakesAtMostTwiceItsKeys) {
    constexpr std::int64_t kTokens = 32768, kDim = 128;
    constexpr std::size_t kKeyBytes = std::size_t{kTokens} * kDim * sizeof(float);
    const std::size_t before = residentBytes();
    const SimilarityPyramid pyramid(randomKeys(kTokens, kDim, 2, 0.5F), kDim);
    EXPECT_LE(static_cast<double>(pyramid.bytes()), 2.1 * kKeyBytes);
    const std::size_t after = residentBytes();
    EXPECT_LE(static_cast<double>(after - before), 2.1 * kKeyBytes);
    const int level = pyramid.levelFor(512);
    EXPECT_EQ(pyramid.blocks(level), 512);
    const auto tiles = pyramid.tiles({SimilarityMetric::Cosine, level, 100, 300, 0, 512});
    EXPECT_EQ(tiles.size(), 300U * 512U);
    EXPECT_LE(static_cast<double>(residentBytes() - before), 2.1 * kKeyBytes);
}

} // namespace ecokv::analysis
