// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA launchers on a real GPU against the scalar reference; skipped, with the reason,
// elsewhere.
#include "kernels/device_memory.h"
#include "kernels/key_statistics.h"
#include "kernels/window_importance.h"

#include "base/float_convert.h"
#include "kernels/compact_rows.h"
#include "kernels/composite_score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace ecokv::kernels {

namespace {

constexpr Device kGpu{DeviceKind::Cuda, 0};
constexpr std::int64_t kKvHeads = 8, kTokens = 4099, kDim = 128, kGroup = 4, kWindow = 8;

/// Host data and its copy on the GPU.
template <class T> class Both {
public:
    explicit Both(std::vector<T> data) : host(std::move(data)), m_buffer(bytes(), kGpu) {
        copyBytes(m_buffer.data(), kGpu, host.data(), {}, bytes());
    }
    T* gpu() const { return static_cast<T*>(m_buffer.data()); }
    std::vector<T> download() const {
        std::vector<T> copy(host.size());
        copyBytes(copy.data(), {}, m_buffer.data(), kGpu, bytes());
        return copy;
    }
    std::size_t bytes() const { return host.size() * sizeof(T); }

    std::vector<T> host;

private:
    DeviceBuffer m_buffer;
};

std::vector<std::uint16_t> randomBf16(std::int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.3F, 1.0F);
    std::vector<std::uint16_t> values(static_cast<std::size_t>(count));
    std::generate(values.begin(), values.end(), [&] { return floatToBf16(normal(random)); });
    return values;
}

std::vector<float> zeros(std::int64_t count) {
    return std::vector<float>(static_cast<std::size_t>(count));
}

void expectClose(const std::vector<float>& got, const std::vector<float>& expected, double relative,
                 double absolute = 1e-9) {
    for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], expected[i], absolute + relative * std::fabs(expected[i])) << i;
    }
}

class GpuParity : public testing::Test {
protected:
    void SetUp() override {
        const CudaReport report = cudaReport();
        if (!report.problem.empty()) {
            GTEST_SKIP() << "no usable GPU: " << report.problem;
        }
    }
};

} // namespace

TEST_F(GpuParity, keyStatisticsEqualTheReference) {
    const std::int64_t count = kKvHeads * kTokens;
    Both<std::uint16_t> keys(randomBf16(count * kDim, 1));
    Both<float> cosine(zeros(count)), euclid(zeros(count)), norm(zeros(count));
    std::vector<HeadStatistics> expected(kKvHeads), got(kKvHeads);
    const auto hostKeys =
        TensorView::contiguous(keys.host.data(), DType::BF16, {kKvHeads, kTokens, kDim});
    const auto gpuKeys =
        TensorView::contiguous(keys.gpu(), DType::BF16, {kKvHeads, kTokens, kDim}, kGpu);
    ASSERT_EQ(
        keyStatistics({hostKeys, nullptr},
                      {cosine.host.data(), euclid.host.data(), norm.host.data(), expected.data()},
                      Backend::Reference),
        Status::Ok);
    ASSERT_EQ(keyStatistics({gpuKeys, nullptr},
                            {cosine.gpu(), euclid.gpu(), norm.gpu(), got.data()}, Backend::Cuda),
              Status::Ok)
        << lastCudaError();
    expectClose(cosine.download(), cosine.host, 1e-6, 3e-7);
    expectClose(euclid.download(), euclid.host, 1e-5);
    expectClose(norm.download(), norm.host, 1e-6);
    for (std::size_t head = 0; head < got.size(); ++head) {
        EXPECT_NEAR(got[head].redundancyCosine, expected[head].redundancyCosine, 1e-7);
        EXPECT_NEAR(got[head].redundancyEuclid, expected[head].redundancyEuclid, 1e-7);
    }
}

TEST_F(GpuParity, windowImportanceEqualsTheReference) {
    Both<std::uint16_t> keys(randomBf16(kKvHeads * kTokens * kDim, 2));
    Both<std::uint16_t> queries(randomBf16(kKvHeads * kGroup * kWindow * kDim, 3));
    Both<float> importance(zeros(kKvHeads * kTokens));
    std::vector<std::int64_t> positions(kTokens), rows(kWindow);
    std::iota(positions.begin(), positions.end(), 0);
    std::iota(rows.begin(), rows.end(), kTokens - kWindow);
    const auto input = [&](void* q, void* k, Device device) {
        return WindowImportanceInput{
            TensorView::contiguous(q, DType::BF16, {kKvHeads * kGroup, kWindow, kDim}, device),
            TensorView::contiguous(k, DType::BF16, {kKvHeads, kTokens, kDim}, device), rows.data(),
            positions.data()};
    };
    ASSERT_EQ(windowImportance(input(queries.host.data(), keys.host.data(), {}),
                               importance.host.data(), Backend::Reference),
              Status::Ok);
    ASSERT_EQ(
        windowImportance(input(queries.gpu(), keys.gpu(), kGpu), importance.gpu(), Backend::Cuda),
        Status::Ok)
        << lastCudaError();
    expectClose(importance.download(), importance.host, 1e-5);
}

TEST_F(GpuParity, compositeScoreEqualsTheReference) {
    const std::int64_t count = kKvHeads * kTokens;
    const auto draw = [count](unsigned seed) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<float> uniform;
        std::vector<float> values(static_cast<std::size_t>(count));
        std::generate(values.begin(), values.end(), [&] { return uniform(random); });
        return values;
    };
    Both<float> attention(draw(4)), cosine(draw(5)), euclid(draw(6));
    std::vector<Both<float>> out;
    for (int i = 0; i < 5; ++i) {
        out.emplace_back(zeros(count));
    }
    const std::vector<double> redundancy(kKvHeads, 0.4), squares(kKvHeads, 1.0);
    std::vector<std::uint8_t> flags(kKvHeads * 3);
    ASSERT_EQ(compositeScore({kKvHeads, kTokens, kTokens, attention.host.data(), cosine.host.data(),
                              euclid.host.data(), nullptr, redundancy.data(), squares.data()},
                             {},
                             {out[0].host.data(), out[1].host.data(), out[2].host.data(),
                              out[3].host.data(), out[4].host.data(), flags.data()},
                             Backend::Reference),
              Status::Ok);
    ASSERT_EQ(compositeScore({kKvHeads, kTokens, kTokens, attention.gpu(), cosine.gpu(),
                              euclid.gpu(), nullptr, redundancy.data(), squares.data()},
                             {},
                             {out[0].gpu(), out[1].gpu(), out[2].gpu(), out[3].gpu(), out[4].gpu(),
                              flags.data()},
                             Backend::Cuda),
              Status::Ok)
        << lastCudaError();
    for (const auto& values : out) {
        expectClose(values.download(), values.host, 1e-6);
    }
}

TEST_F(GpuParity, compactionEqualsTheReference) {
    Both<std::uint16_t> rows(randomBf16(kTokens * kDim, 9));
    std::vector<std::int32_t> kept;
    for (std::int32_t row = 3; row < kTokens; row += 7) {
        kept.push_back(row);
    }
    const auto count = static_cast<std::int64_t>(kept.size());
    ASSERT_EQ(compactRows(TensorView::contiguous(rows.gpu(), DType::BF16, {kTokens, kDim}, kGpu),
                          kept.data(), count, Backend::Cuda),
              Status::Ok)
        << lastCudaError();
    ASSERT_EQ(compactRows(TensorView::contiguous(rows.host.data(), DType::BF16, {kTokens, kDim}),
                          kept.data(), count, Backend::Reference),
              Status::Ok);
    auto got = rows.download();
    got.resize(static_cast<std::size_t>(count * kDim));
    rows.host.resize(got.size());
    EXPECT_EQ(got, rows.host);
}

} // namespace ecokv::kernels
