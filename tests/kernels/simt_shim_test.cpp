// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/block_reduce.h"
#include "kernels/cuda/element.h"

#include "base/float_convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace ecokv::kernels {

TEST(SimtShim, everyThreadOfEveryBlockRunsOnce) {
    std::vector<int> seen(3 * 2 * 64, 0);
    simt::launchOnHost(3, 2, 64, [&] {
        const int block = simt::blockY() * 3 + simt::blockX();
        ++seen[static_cast<std::size_t>(block * simt::threads() + simt::thread())];
    });
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST(SimtShim, barriersSeparateWritesFromReads) {
    std::vector<int> result(96);
    simt::launchOnHost(1, 1, 96, [&] {
        ECOKV_SHARED int shared[96];
        shared[simt::thread()] = simt::thread() * 3;
        simt::sync();
        result[static_cast<std::size_t>(simt::thread())] = shared[95 - simt::thread()];
    });
    for (int i = 0; i < 96; ++i) {
        EXPECT_EQ(result[static_cast<std::size_t>(i)], (95 - i) * 3);
    }
}

TEST(SimtShim, exchangeReadsTheLaneAcrossTheMask) {
    std::vector<double> result(64);
    simt::launchOnHost(1, 1, 64, [&] {
        result[static_cast<std::size_t>(simt::thread())] =
            simt::exchange(static_cast<double>(simt::thread()), 5);
    });
    for (int i = 0; i < 64; ++i) {
        EXPECT_EQ(result[static_cast<std::size_t>(i)], i ^ 5);
    }
}

TEST(SimtShim, gatherReadsEveryLaneOfTheWarp) {
    std::vector<std::vector<int>> seen(64, std::vector<int>(32));
    simt::launchOnHost(1, 1, 64, [&] {
        const int mine = 10 * simt::thread();
        simt::gather(&mine, sizeof mine, seen[static_cast<std::size_t>(simt::thread())].data());
    });
    for (int thread = 0; thread < 64; ++thread) {
        for (int lane = 0; lane < 32; ++lane) {
            EXPECT_EQ(seen[static_cast<std::size_t>(thread)][static_cast<std::size_t>(lane)],
                      10 * (thread / 32 * 32 + lane));
        }
    }
}

TEST(SimtShim, aBarrierThatOneThreadSkipsIsAnError) {
    EXPECT_THROW(simt::launchOnHost(1, 1, 32,
                                    [] {
                                        if (simt::thread() != 7) {
                                            simt::sync();
                                        }
                                    }),
                 std::logic_error);
    EXPECT_THROW(simt::launchOnHost(1, 1, 33, [] {}), std::logic_error);
}

TEST(BlockReduce, sumsAndMaximaReachEveryThread) {
    std::vector<double> sums(128), peaks(128);
    simt::launchOnHost(1, 1, 128, [&] {
        const auto at = static_cast<std::size_t>(simt::thread());
        sums[at] = cuda::blockReduce<cuda::Sum>(simt::thread());
        peaks[at] = cuda::blockReduce<cuda::Largest>(simt::thread() == 77 ? 5.0 : -1.0);
    });
    EXPECT_EQ(sums, std::vector<double>(128, 127.0 * 128 / 2));
    EXPECT_EQ(peaks, std::vector<double>(128, 5.0));
}

TEST(Element, halfAndBfloatReadExactlyAsTheHostReadsThem) {
    for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
        const auto stored = static_cast<std::uint16_t>(bits);
        const float half = f16ToFloat(stored);
        const float bfloat = bf16ToFloat(stored);
        ASSERT_TRUE(std::isnan(half) ? std::isnan(cuda::toFloat(cuda::F16{stored}))
                                     : cuda::toFloat(cuda::F16{stored}) == half)
            << bits;
        ASSERT_TRUE(std::isnan(bfloat) ? std::isnan(cuda::toFloat(cuda::Bf16{stored}))
                                       : cuda::toFloat(cuda::Bf16{stored}) == bfloat)
            << bits;
    }
}

} // namespace ecokv::kernels
