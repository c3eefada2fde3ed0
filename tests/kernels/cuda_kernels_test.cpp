// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA kernel source, run on the host through the SIMT shim, against the scalar reference: odd
// sizes, tails, strides, all dtypes, huge values, damaged rows.
#include "support/host_runtime.h"

#include "base/float_convert.h"
#include "kernels/backends.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace ecokv::kernels {

namespace {

struct Case {
    std::int64_t kvHeads, tokens, dim;
    DType dtype = DType::F32;
    std::int64_t padding = 0; ///< unused elements behind each row, so that strides matter
    float offset = 0;         ///< common direction: a redundant head
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << dtypeName(c.dtype) << " [" << c.kvHeads << ", " << c.tokens << ", " << c.dim
               << "] padding " << c.padding << " offset " << c.offset;
}

/// Random numbers in any float dtype, as a strided tensor [head, row, dim].
class RandomTensor {
public:
    RandomTensor(std::int64_t heads, std::int64_t rows, std::int64_t dim, DType dtype,
                 std::int64_t padding, float offset, unsigned seed)
        : m_dtype(dtype), m_shape{heads, rows, dim}, m_rowStride(dim + padding) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal;
        const auto count = static_cast<std::size_t>(heads * rows * m_rowStride);
        for (std::size_t i = 0; i < count; ++i) {
            push(normal(random) + offset * (i % 3 == 0 ? 1.0F : -0.5F));
        }
    }

    TensorView view() {
        TensorView view;
        view.data = m_dtype == DType::F32 ? static_cast<void*>(m_wide.data()) : m_narrow.data();
        view.dtype = m_dtype;
        view.rank = 3;
        view.shape = {m_shape[0], m_shape[1], m_shape[2], 0};
        view.strides = {m_shape[1] * m_rowStride, m_rowStride, 1, 0};
        return view;
    }

    std::vector<float>& wide() { return m_wide; }

private:
    void push(float value) {
        if (m_dtype == DType::F32) {
            m_wide.push_back(value);
        } else {
            m_narrow.push_back(m_dtype == DType::BF16 ? floatToBf16(value) : floatToF16(value));
        }
    }

    DType m_dtype;
    std::int64_t m_shape[3];
    std::int64_t m_rowStride;
    std::vector<float> m_wide;
    std::vector<std::uint16_t> m_narrow;
};

std::vector<std::int64_t> upTo(std::int64_t count) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 0);
    return values;
}

struct Statistics {
    std::vector<float> cosine, euclid, norm;
    std::vector<HeadStatistics> heads;

    explicit Statistics(const TensorView& keys)
        : cosine(static_cast<std::size_t>(keys.shape[0] * keys.shape[1])), euclid(cosine.size()),
          norm(cosine.size()), heads(static_cast<std::size_t>(keys.shape[0])) {}

    KeyStatisticsOutput output() {
        return {cosine.data(), euclid.data(), norm.data(), heads.data()};
    }
};

void expectClose(const std::vector<float>& got, const std::vector<float>& expected, double relative,
                 double absolute, const char* what) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], expected[i], absolute + relative * std::fabs(expected[i]))
            << what << " of element " << i;
    }
}

void compareStatistics(const KeyStatisticsInput& input) {
    Statistics expected(input.keys), got(input.keys);
    ASSERT_EQ(reference::keyStatistics(input, expected.output()), Status::Ok);
    cuda::HostRuntime runtime;
    ASSERT_EQ(cuda::keyStatisticsSteps(runtime, input, got.output()), Status::Ok);
    // a row is summed in fp32, rows are joined in fp64
    expectClose(got.cosine, expected.cosine, 1e-6, 3e-7, "cosine");
    expectClose(got.euclid, expected.euclid, 1e-5, 1e-9, "euclid");
    expectClose(got.norm, expected.norm, 1e-6, 0, "norm");
    for (std::size_t head = 0; head < got.heads.size(); ++head) {
        const HeadStatistics& a = got.heads[head];
        const HeadStatistics& b = expected.heads[head];
        EXPECT_NEAR(a.redundancyCosine, b.redundancyCosine, 3e-7);
        EXPECT_NEAR(a.redundancyEuclid, b.redundancyEuclid, 3e-7);
        EXPECT_NEAR(a.anisotropy, b.anisotropy, 3e-7);
        EXPECT_NEAR(a.meanKeyNorm, b.meanKeyNorm, 3e-7 * b.meanKeyNorm);
        EXPECT_NEAR(a.meanSquaredNorm, b.meanSquaredNorm, 3e-7 * b.meanSquaredNorm);
        EXPECT_EQ(a.zeroFreeShare, b.zeroFreeShare);
    }
}

class CudaKernels : public testing::TestWithParam<Case> {};

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const DType dtype : {DType::F32, DType::BF16, DType::F16}) {
        all.push_back({1, 1, 8, dtype});
        all.push_back({2, 2, 32, dtype, 4});
        all.push_back({3, 65, 48, dtype, 1, 2.0F});
        all.push_back({1, 130, 128, dtype, 0, 8.0F});
        all.push_back({2, 257, 80, dtype, 16});
    }
    return all;
}

} // namespace

TEST_P(CudaKernels, keyStatisticsEqualTheReference) {
    const Case& c = GetParam();
    RandomTensor keys(c.kvHeads, c.tokens, c.dim, c.dtype, c.padding, c.offset, 1);
    compareStatistics({keys.view(), nullptr});
}

TEST_P(CudaKernels, keyStatisticsUndoBothRotationStyles) {
    const Case& c = GetParam();
    RandomTensor keys(c.kvHeads, c.tokens, c.dim, c.dtype, c.padding, c.offset, 2);
    std::vector<float> frequencies;
    for (std::int64_t i = 0; i < c.dim / 2; ++i) {
        frequencies.push_back(
            std::pow(10000.0F, -2.0F * static_cast<float>(i) / static_cast<float>(c.dim)));
    }
    auto positions = upTo(c.tokens);
    for (const RopeStyle style : {RopeStyle::Half, RopeStyle::Interleaved}) {
        const Rotation rotation{style, frequencies.data(), positions.data(), 1.25F};
        compareStatistics({keys.view(), &rotation});
    }
}

TEST_P(CudaKernels, windowImportanceEqualsTheReference) {
    const Case& c = GetParam();
    constexpr std::int64_t kGroup = 3;
    for (const std::int64_t window : {std::int64_t{1}, std::int64_t{5}}) { // 5 > tokens in some
        RandomTensor keys(c.kvHeads, c.tokens, c.dim, c.dtype, c.padding, c.offset, 3);
        RandomTensor queries(c.kvHeads * kGroup, window, c.dim, c.dtype, c.padding, 0, 4);
        const auto keyPositions = upTo(c.tokens);
        std::vector<std::int64_t> queryPositions;
        for (std::int64_t row = 0; row < window; ++row) {
            queryPositions.push_back(c.tokens - window + row); // negative: sees nothing
        }
        const WindowImportanceInput input{queries.view(), keys.view(), queryPositions.data(),
                                          keyPositions.data(),
                                          1.0F / std::sqrt(static_cast<float>(c.dim))};
        std::vector<float> expected(static_cast<std::size_t>(c.kvHeads * c.tokens));
        std::vector<float> got(expected.size());
        ASSERT_EQ(reference::windowImportance(input, expected.data()), Status::Ok);
        cuda::HostRuntime runtime;
        ASSERT_EQ(cuda::windowImportanceSteps(runtime, input, got.data()), Status::Ok);
        expectClose(got, expected, 1e-5, 1e-12, "importance");
    }
}

TEST_P(CudaKernels, compositeScoreEqualsTheReference) {
    const Case& c = GetParam();
    const auto count = static_cast<std::size_t>(c.kvHeads * c.tokens);
    std::mt19937 random(5);
    std::uniform_real_distribution<float> uniform;
    const auto draw = [&](std::size_t size) {
        std::vector<float> values(size);
        std::generate(values.begin(), values.end(), [&] { return uniform(random); });
        return values;
    };
    const std::int64_t stride = c.tokens + 7; // attention covers protected tokens too
    const auto attention = draw(static_cast<std::size_t>(c.kvHeads * stride));
    const auto cosine = draw(count), euclid = draw(count), valueNorm = draw(count);
    std::vector<double> redundancy, squares;
    for (std::int64_t head = 0; head < c.kvHeads; ++head) {
        redundancy.push_back(0.1 + 0.4 * static_cast<double>(head));
        squares.push_back(1.0);
    }
    const CompositeScoreInput input{c.kvHeads,        c.tokens,          stride,
                                    attention.data(), cosine.data(),     euclid.data(),
                                    valueNorm.data(), redundancy.data(), squares.data()};
    for (const PoolMode mode : {PoolMode::Average, PoolMode::AveragePadded, PoolMode::Max}) {
        for (const bool addValueNorm : {false, true}) {
            const int width = addValueNorm ? 31 : 7;
            const CompositeScoreParams params{0.3F, width, mode, addValueNorm};
            std::vector<std::vector<float>> expected(5, std::vector<float>(count)), got = expected;
            std::vector<std::uint8_t> flags(static_cast<std::size_t>(c.kvHeads * 3), 9);
            auto gotFlags = flags;
            ASSERT_EQ(reference::compositeScore(input, params,
                                                {expected[0].data(), expected[1].data(),
                                                 expected[2].data(), expected[3].data(),
                                                 expected[4].data(), flags.data()}),
                      Status::Ok);
            cuda::HostRuntime runtime;
            ASSERT_EQ(cuda::compositeScoreSteps(runtime, input, params,
                                                {got[0].data(), got[1].data(), got[2].data(),
                                                 got[3].data(), got[4].data(), gotFlags.data()}),
                      Status::Ok);
            for (std::size_t i = 0; i < got.size(); ++i) {
                expectClose(got[i], expected[i], 1e-6, 1e-9, "score output");
            }
            EXPECT_EQ(gotFlags, flags);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(OnTheHost, CudaKernels, testing::ValuesIn(cases()));

// F021: constant vectors scale to 0 and are flagged, never to NaN.
TEST(CudaKernels, constantInputsGiveFiniteScoresAndFlags) {
    const std::vector<float> attention(12, 0.1F), cosine(12, 0.5F), euclid(12, 0.0F),
        valueNorm(12, 3.0F);
    const std::vector<double> redundancy{0.5}, squares{1.0};
    std::vector<float> out(12 * 5);
    std::vector<std::uint8_t> flags(3);
    cuda::HostRuntime runtime;
    cuda::compositeScoreSteps(runtime,
                              {1, 12, 12, attention.data(), cosine.data(), euclid.data(),
                               valueNorm.data(), redundancy.data(), squares.data()},
                              {0.5F, 5, PoolMode::Average, true},
                              {&out[0], &out[12], &out[24], &out[36], &out[48], flags.data()});
    EXPECT_EQ(flags, (std::vector<std::uint8_t>{1, 1, 1}));
    for (std::size_t i = 48; i < 60; ++i) {
        EXPECT_NEAR(out[i], 0.05F, 1e-7); // (1 - r) * 0.1
    }
}

// F023: 30 * 30 * 128 = 115200 does not fit into half precision before it is scaled.
TEST(CudaKernels, hugeLogitsStayFinite) {
    std::vector<std::uint16_t> large(2 * 128, floatToF16(30.0F));
    const auto keys = TensorView::contiguous(large.data(), DType::F16, {1, 2, 128});
    const auto queries = TensorView::contiguous(large.data(), DType::F16, {1, 1, 128});
    const std::int64_t queryPosition = 1;
    const std::vector<std::int64_t> positions{0, 1};
    std::vector<float> importance(2);
    cuda::HostRuntime runtime;
    cuda::windowImportanceSteps(
        runtime, {queries, keys, &queryPosition, positions.data(), 1.0F / std::sqrt(128.0F)},
        importance.data());
    EXPECT_NEAR(importance[0], 0.5F, 1e-7);
    EXPECT_NEAR(importance[1], 0.5F, 1e-7);
}

TEST(CudaKernels, damagedAndZeroRowsAreTreatedAsTheReferenceDoes) {
    RandomTensor keys(2, 70, 32, DType::F32, 0, 0, 6);
    auto& data = keys.wide();
    data[5] = std::numeric_limits<float>::quiet_NaN();
    data[40 * 32] = std::numeric_limits<float>::infinity();
    std::fill_n(data.begin() + 66 * 32, 32, 0.0F);
    std::fill_n(data.begin() + 70 * 32, 32, 1e30F);
    compareStatistics({keys.view(), nullptr});
}

// Squares that float32 cannot hold, on both ends, beside usual rows.
TEST(CudaKernels, extremeRowsAreMeasuredInFp64) {
    RandomTensor keys(3, 300, 32, DType::F32, 0, 0, 9);
    auto& data = keys.wide();
    for (std::size_t i = 0; i < 32; ++i) {
        data[5 * 32 + i] *= 1e-22F;
        data[(300 + 7) * 32 + i] *= 1e25F;
        data[(600 + 290) * 32 + i] *= 1e37F;
    }
    compareStatistics({keys.view(), nullptr});
}

TEST(CudaKernels, anEmptyCandidateRangeIsFine) {
    RandomTensor keys(2, 0, 16, DType::F32, 0, 0, 7);
    compareStatistics({keys.view(), nullptr});
}

TEST(CudaKernels, compactionMovesStridedRowsInPlace) {
    for (const std::int64_t padding : {0, 3}) { // 16-byte words, and the smallest ones
        for (const DType dtype : {DType::F32, DType::BF16}) {
            RandomTensor source(2, 1500, 64, dtype, padding, 0, 8);
            RandomTensor expected(2, 1500, 64, dtype, padding, 0, 8); // same seed, same numbers
            std::vector<std::vector<std::int32_t>> kept{{0, 1, 7, 8, 150, 298, 299}, {}};
            for (std::int32_t row = 0; row < 1500; row += row % 400 < 200 ? 1 : 3) {
                kept[1].push_back(row);
            }
            std::vector<RowsToCompact> heads;
            for (std::int64_t head = 0; head < 2; ++head) {
                const auto& rows = kept[static_cast<std::size_t>(head)];
                ASSERT_EQ(reference::compactRows(expected.view()[head], rows.data(),
                                                 static_cast<std::int64_t>(rows.size())),
                          Status::Ok);
                heads.push_back({source.view()[head], rows});
            }
            cuda::HostRuntime runtime;
            ASSERT_EQ(cuda::compactHeadsSteps(runtime, heads), Status::Ok);
            for (std::int64_t head = 0; head < 2; ++head) {
                const TensorView got = source.view()[head];
                const TensorView wanted = expected.view()[head];
                const auto rows = static_cast<std::int64_t>(heads[head].kept.size());
                const auto bytes =
                    static_cast<std::size_t>(rows * got.strides[0]) * dtypeSize(dtype);
                EXPECT_EQ(std::memcmp(got.data, wanted.data, bytes), 0);
            }
        }
    }
}

// A block waits for exactly the blocks that read what it overwrites.
TEST(CudaKernels, compactionWaitsOnlyForReadersOfItsOwnRows) {
    std::vector<cuda::BlockMove> blocks;
    const std::vector<std::int32_t> kept{0, 1, 2, 3, 8, 9, 10, 11}; // blocks of 4 rows
    cuda::planBlocks(kept, 4, 5, blocks);
    cuda::planBlocks(std::vector<std::int32_t>{4, 5, 6, 7, 9}, 4, 6, blocks);
    ASSERT_EQ(blocks.size(), 4U);
    const auto waits = [&](std::size_t block) {
        return blocks[block].waitTo - blocks[block].waitFrom;
    };
    EXPECT_EQ(blocks[0].head, 5);
    EXPECT_LE(waits(0), 0);
    EXPECT_LE(waits(1), 0); // rows 4 to 7 are read by nobody
    EXPECT_EQ(blocks[3].head, 6);
    EXPECT_EQ(blocks[3].waitFrom, 2); // row 4 is read by the block before
    EXPECT_EQ(blocks[3].waitTo, 3);
}

// Random windows of many rows, positions with gaps: the tensor-core tiles at their edges.
TEST(CudaKernels, windowsOfManyRowsEqualTheReference) {
    for (const DType dtype : {DType::BF16, DType::F16}) {
        for (const std::int64_t dim : {64, 120, 256}) {
            const std::int64_t tokens = 203, window = 24, group = dim == 120 ? 1 : 4;
            RandomTensor keys(2, tokens, dim, dtype, 8, 0.2F, 11);
            RandomTensor queries(2 * group, window, dim, dtype, 0, 0, 12);
            std::vector<std::int64_t> keyPositions, queryPositions;
            for (std::int64_t i = 0; i < tokens; ++i) {
                keyPositions.push_back(2 * i + (i > 100 ? 5 : 0));
            }
            for (std::int64_t i = 0; i < window; ++i) {
                queryPositions.push_back(2 * tokens - 60 + 3 * i);
            }
            const WindowImportanceInput input{queries.view(), keys.view(), queryPositions.data(),
                                              keyPositions.data(),
                                              1.0F / std::sqrt(static_cast<float>(dim))};
            ASSERT_TRUE(cuda::fitsTiles(input));
            std::vector<float> expected(static_cast<std::size_t>(2 * tokens)), got(expected);
            ASSERT_EQ(reference::windowImportance(input, expected.data()), Status::Ok);
            cuda::HostRuntime runtime;
            ASSERT_EQ(cuda::windowImportanceSteps(runtime, input, got.data()), Status::Ok);
            expectClose(got, expected, 2e-5, 1e-9, "importance");
        }
    }
}

} // namespace ecokv::kernels
