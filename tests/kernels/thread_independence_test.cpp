// SPDX-License-Identifier: GPL-3.0-or-later
// The CPU kernels give the same bits on any number of threads.
#include "kernels/host_tensor.h"
#include "kernels/key_statistics.h"
#include "kernels/window_importance.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace ecokv::kernels {

namespace {

constexpr std::int64_t kTokens = 3001; // large enough that threads are worth waking

/// Every result of the threaded kernels, as bytes.
std::vector<std::byte> everything(int threads, const TensorView& queries, const TensorView& keys) {
#ifdef _OPENMP
    omp_set_num_threads(threads);
#else
    static_cast<void>(threads);
#endif
    const auto rows = static_cast<std::size_t>(keys.shape[0] * kTokens);
    std::vector<float> floats(4 * rows);
    std::vector<HeadStatistics> heads(static_cast<std::size_t>(keys.shape[0]));
    std::vector<std::int64_t> positions(static_cast<std::size_t>(kTokens));
    std::iota(positions.begin(), positions.end(), 0);
    EXPECT_EQ(
        keyStatistics({keys, nullptr},
                      {floats.data(), floats.data() + rows, floats.data() + 2 * rows, heads.data()},
                      Backend::Cpu),
        Status::Ok);
    const std::int64_t window = queries.shape[1];
    EXPECT_EQ(
        windowImportance({queries, keys, positions.data() + (kTokens - window), positions.data()},
                         floats.data() + 3 * rows, Backend::Cpu),
        Status::Ok);
    std::vector<std::byte> bytes(floats.size() * sizeof(float) +
                                 heads.size() * sizeof(HeadStatistics));
    std::byte* to = bytes.data();
    std::memcpy(to, floats.data(), floats.size() * sizeof(float));
    std::memcpy(to + floats.size() * sizeof(float), heads.data(),
                heads.size() * sizeof(HeadStatistics));
    return bytes;
}

} // namespace

TEST(ThreadIndependence, oneAndManyThreadsGiveTheSameBits) {
#ifndef _OPENMP
    GTEST_SKIP() << "built without OpenMP: there is one thread";
#endif
    test::HostTensor queries(DType::BF16, 4, 11, 64);
    test::HostTensor keys(DType::BF16, 2, kTokens, 64);
    queries.fillNormal(1, 0.5F);
    keys.fillNormal(2, 0.5F);
    const auto one = everything(1, queries.view(), keys.view());
    for (const int threads : {2, 3, 7}) {
        EXPECT_EQ(everything(threads, queries.view(), keys.view()), one) << threads << " threads";
    }
}

} // namespace ecokv::kernels
