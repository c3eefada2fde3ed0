// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/attention.h"

#include "cache/kv_cache.h"
#include "model/tensor_bridge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace ecokv::model {
namespace {

at::Tensor random(at::IntArrayRef shape, unsigned seed) {
    std::mt19937 generator(seed);
    at::Tensor t = at::empty(shape, at::TensorOptions(c10::kFloat));
    for (std::int64_t i = 0; i < t.numel(); ++i) {
        t.data_ptr<float>()[i] = static_cast<float>(generator() % 2001) / 500.0F - 2.0F;
    }
    return t;
}

struct Row {
    const at::Tensor& queries; ///< [head, row, dim]
    const at::Tensor& keys;    ///< [kvHead, token, dim]
    const at::Tensor& values;
};

float element(const at::Tensor& t, std::int64_t a, std::int64_t b, std::int64_t c) {
    return t.const_data_ptr<float>()[(a * t.size(1) + b) * t.size(2) + c];
}

/// softmax(q k / sqrt(d)) v over the given tokens, in double precision.
std::vector<double> expected(const Row& in, std::int64_t head, std::int64_t row,
                             const std::vector<std::int64_t>& visible) {
    const std::int64_t dim = in.queries.size(2);
    const std::int64_t kvHead = head / (in.queries.size(0) / in.keys.size(0));
    std::vector<double> weight;
    for (const std::int64_t token : visible) {
        double dot = 0.0;
        for (std::int64_t i = 0; i < dim; ++i) {
            dot += static_cast<double>(element(in.queries, head, row, i)) *
                   static_cast<double>(element(in.keys, kvHead, token, i));
        }
        weight.push_back(std::exp(dot / std::sqrt(static_cast<double>(dim))));
    }
    const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
    std::vector<double> out(static_cast<std::size_t>(dim), 0.0);
    for (std::size_t t = 0; t < visible.size(); ++t) {
        for (std::int64_t i = 0; i < dim; ++i) {
            out[static_cast<std::size_t>(i)] +=
                weight[t] / sum * static_cast<double>(element(in.values, kvHead, visible[t], i));
        }
    }
    return out;
}

std::vector<std::int64_t> firstTokens(std::int64_t count) {
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(count));
    std::iota(tokens.begin(), tokens.end(), 0);
    return tokens;
}

TEST(Attention, causalRowsSeeThemselvesAndWhatCameBefore) {
    const at::Tensor queries = random({6, 37, 8}, 1);
    const at::Tensor keys = random({2, 37, 8}, 2);
    const at::Tensor values = random({2, 37, 8}, 3);
    const at::Tensor out = attendCausal(queries, keys, values).contiguous();
    ASSERT_EQ(out.sizes(), (at::IntArrayRef{37, 48}));
    for (const std::int64_t row : {0, 1, 17, 36}) {
        for (std::int64_t head = 0; head < 6; ++head) {
            const auto want = expected({queries, keys, values}, head, row, firstTokens(row + 1));
            for (std::int64_t i = 0; i < 8; ++i) {
                EXPECT_NEAR(out.const_data_ptr<float>()[row * 48 + head * 8 + i],
                            want[static_cast<std::size_t>(i)], 1e-5);
            }
        }
    }
}

/// queries [head, row, dim], whose last row stands at position `last`, to rows at true positions.
std::vector<std::int64_t> positionsUpTo(std::int64_t last, std::int64_t rows) {
    std::vector<std::int64_t> positions(static_cast<std::size_t>(rows));
    std::iota(positions.begin(), positions.end(), last + 1 - rows);
    return positions;
}

void expectRow(const at::Tensor& out, const Row& in, std::int64_t head, std::int64_t row,
               const std::vector<std::int64_t>& visible) {
    const std::int64_t dim = in.queries.size(2);
    const auto want = expected(in, head, row, visible);
    for (std::int64_t i = 0; i < dim; ++i) {
        ASSERT_NEAR(out.const_data_ptr<float>()[row * out.size(1) + head * dim + i],
                    want[static_cast<std::size_t>(i)], 1e-5)
            << "head " << head << ", row " << row;
    }
}

/// Field case F019: 5 rows behind 32 keys. A mask aligned with the first key would hide 31 of them.
TEST(Attention, rowsBehindOlderKeysSeeAllOfThem) {
    const at::Tensor queries = random({6, 5, 8}, 11);
    const at::Tensor keys = random({2, 37, 8}, 12);
    const at::Tensor values = random({2, 37, 8}, 13);
    const at::Tensor out =
        attendByPosition({queries, positionsUpTo(36, 5)}, keys, values, firstTokens(37));
    ASSERT_EQ(out.sizes(), (at::IntArrayRef{5, 48}));
    for (std::int64_t row = 0; row < 5; ++row) {
        for (std::int64_t head = 0; head < 6; ++head) {
            expectRow(out, {queries, keys, values}, head, row, firstTokens(33 + row));
        }
    }
}

/// 590 rows behind 10 keys are cut into blocks of 145 (2^18 elements of a mask for 3 query heads).
TEST(Attention, manyRowsAreTakenInBlocksThatSeeTheSame) {
    const at::Tensor queries = random({6, 590, 8}, 21);
    const at::Tensor keys = random({2, 600, 8}, 22);
    const at::Tensor values = random({2, 600, 8}, 23);
    const at::Tensor out =
        attendByPosition({queries, positionsUpTo(599, 590)}, keys, values, firstTokens(600));
    ASSERT_EQ(out.sizes(), (at::IntArrayRef{590, 48}));
    for (const std::int64_t row : {0, 1, 144, 145, 146, 290, 435, 588, 589}) {
        for (const std::int64_t head : {0, 2, 5}) {
            expectRow(out, {queries, keys, values}, head, row, firstTokens(11 + row));
        }
    }
}

/// A window of 8 at position q shows q - 7 to q, as transformers counts (field case F034). 40 rows
/// are more than the blocks that a sliding layer is cut into.
TEST(Attention, aSlidingWindowShowsItsOwnRowAndTheOnesJustBefore) {
    const at::Tensor queries = random({4, 40, 8}, 14);
    const at::Tensor keys = random({2, 50, 8}, 15);
    const at::Tensor values = random({2, 50, 8}, 16);
    const std::vector<std::int64_t> positions = positionsUpTo(49, 40);
    const at::Tensor out = attendByPosition({queries, positions, 8}, keys, values, firstTokens(50));
    for (std::int64_t row = 0; row < 40; ++row) {
        std::vector<std::int64_t> visible(8);
        std::iota(visible.begin(), visible.end(), row + 3);
        for (std::int64_t head = 0; head < 4; ++head) {
            expectRow(out, {queries, keys, values}, head, row, visible);
        }
    }
}

/// Two pictures at 5..30 and 33..35 among 40 tokens: their tokens see each other, whatever the
/// window hides, and nobody else sees ahead.
TEST(Attention, tokensOfAPictureSeeAllOfIt) {
    const at::Tensor queries = random({4, 40, 8}, 17);
    const at::Tensor keys = random({2, 40, 8}, 18);
    const at::Tensor values = random({2, 40, 8}, 19);
    const std::vector<std::int64_t> positions = firstTokens(40);
    std::vector<PositionRun> runs;
    for (const std::int64_t p : positions) {
        runs.push_back(p >= 5 && p <= 30    ? PositionRun{5, 30}
                       : p >= 33 && p <= 35 ? PositionRun{33, 35}
                                            : PositionRun{p, p});
    }
    for (const std::int64_t window : {0, 4}) {
        const at::Tensor out =
            attendByPosition({queries, positions, window, runs}, keys, values, positions);
        for (std::int64_t row = 0; row < 40; ++row) {
            const PositionRun& run = runs[static_cast<std::size_t>(row)];
            std::vector<std::int64_t> visible;
            for (const std::int64_t key : positions) {
                const bool isPast = key <= row && (window == 0 || key > row - window);
                if (isPast || (key >= run.first && key <= run.last)) {
                    visible.push_back(key);
                }
            }
            for (std::int64_t head = 0; head < 4; ++head) {
                expectRow(out, {queries, keys, values}, head, row, visible);
            }
        }
    }
}

class AttendCache : public ::testing::Test {
protected:
    static constexpr std::int64_t kTokens = 21;

    AttendCache() {
        const std::vector<std::int64_t> positions = firstTokens(kTokens);
        m_cache.append(LayerId{0}, viewOf(m_keys), viewOf(m_values), positions);
    }

    /// The last `queries.size(1)` tokens attend to the cache they are part of.
    at::Tensor attend(const at::Tensor& queries, std::int64_t window = 0) const {
        return attendCache({queries, positionsUpTo(kTokens - 1, queries.size(1)), window}, m_cache,
                           LayerId{0});
    }

    void expectHead(const at::Tensor& out, std::int64_t head,
                    const std::vector<std::int64_t>& visible) const {
        expectRow(out, {m_queries, m_keys, m_values}, head, 0, visible);
    }

    at::Tensor m_queries = random({4, 1, 16}, 4);
    at::Tensor m_keys = random({2, kTokens, 16}, 5);
    at::Tensor m_values = random({2, kTokens, 16}, 6);
    cache::KvCache m_cache{{1, 2, 16, DType::F32, {}}};
};

TEST_F(AttendCache, seesEveryTokenOfAFullLayer) {
    const at::Tensor out = attend(m_queries);
    for (std::int64_t head = 0; head < 4; ++head) {
        expectHead(out, head, firstTokens(kTokens));
    }
}

TEST_F(AttendCache, seesOnlyTheKeptRowsOfEachHead) {
    m_cache.apply({LayerId{0}, {{0, 3, 4, 20}, {1, 2, 19, 20}}, true});
    const at::Tensor out = attend(m_queries);
    for (const std::int64_t head : {0, 1}) {
        expectHead(out, head, {0, 3, 4, 20});
        expectHead(out, head + 2, {1, 2, 19, 20});
    }
}

TEST_F(AttendCache, headsMayKeepDifferentNumbersOfTokens) {
    m_cache.apply({LayerId{0}, {{20}, {0, 5, 6, 7, 8, 18, 20}}, true});
    ASSERT_FALSE(m_cache.isUniform(LayerId{0}));
    const at::Tensor out = attend(m_queries);
    for (const std::int64_t head : {0, 1}) {
        expectHead(out, head, {20});
        expectHead(out, head + 2, {0, 5, 6, 7, 8, 18, 20});
    }
}

/// Field case F019, with heads of different lengths: the last three tokens after an eviction.
TEST_F(AttendCache, severalRowsSeeWhatEachHeadKeptAndEachOther) {
    const at::Tensor queries = random({4, 3, 16}, 7);
    m_cache.apply({LayerId{0}, {{2, 18, 19, 20}, {0, 5, 6, 7, 8, 18, 19, 20}}, true});
    const at::Tensor out = attend(queries);
    ASSERT_EQ(out.sizes(), (at::IntArrayRef{3, 64}));
    std::vector<std::int64_t> few{2}, many{0, 5, 6, 7, 8};
    for (std::int64_t row = 0; row < 3; ++row) {
        few.push_back(18 + row);
        many.push_back(18 + row);
        for (const std::int64_t head : {0, 1}) {
            expectRow(out, {queries, m_keys, m_values}, head, row, few);
            expectRow(out, {queries, m_keys, m_values}, head + 2, row, many);
        }
    }
}

/// Equally many keys at different positions: the window cuts them at different rows.
TEST_F(AttendCache, aSlidingWindowGoesByTruePositionsOfEachHead) {
    m_cache.apply({LayerId{0}, {{0, 16, 17, 20}, {14, 15, 16, 20}}, true});
    ASSERT_TRUE(m_cache.isUniform(LayerId{0}));
    const at::Tensor out = attend(m_queries, 5);
    for (const std::int64_t head : {0, 1}) {
        expectHead(out, head, {16, 17, 20});
        expectHead(out, head + 2, {16, 20});
    }
}

/// Field case F023: q = k = 30 in 128 dimensions has a raw product of 115200, beyond fp16.
TEST(Attention, hugeProductsStayFiniteInBf16) {
    const at::Tensor queries = at::zeros({1, 4, 128}, at::TensorOptions(c10::kBFloat16));
    queries.fill_(30.0);
    const at::Tensor values = random({1, 4, 128}, 8).to(c10::kBFloat16);
    const at::Tensor out = attendCausal(queries, queries, values).to(c10::kFloat).contiguous();
    for (std::int64_t i = 0; i < out.numel(); ++i) {
        ASSERT_TRUE(std::isfinite(out.const_data_ptr<float>()[i])) << i;
    }
}

} // namespace
} // namespace ecokv::model
