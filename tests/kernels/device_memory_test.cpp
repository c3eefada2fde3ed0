// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/device_memory.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace ecokv::kernels {

TEST(DeviceBuffer, hostMemoryIsAlignedAndMoves) {
    DeviceBuffer first(100, {});
    ASSERT_NE(first.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.data()) % 64, 0U);
    void* const data = first.data();
    DeviceBuffer second(std::move(first));
    EXPECT_EQ(second.data(), data);
    EXPECT_EQ(second.bytes(), 100U);
    DeviceBuffer third(8, {});
    third = std::move(second);
    EXPECT_EQ(third.data(), data);
    EXPECT_EQ(DeviceBuffer(0, {}).data(), nullptr);
}

TEST(DeviceBuffer, saysHowMuchCouldNotBeHad) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the address sanitizer ends the program instead of refusing the allocation";
#endif
    try {
        DeviceBuffer(std::numeric_limits<std::size_t>::max() / 2, {});
        FAIL() << "half of the address space was allocated";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        EXPECT_NE(error.message().find("9223372036854775807 bytes"), std::string::npos)
            << error.message();
    }
}

TEST(DeviceMemory, copiesAStridedViewIntoOnePiece) {
    std::vector<std::int32_t> data(2 * 4 * 3);
    std::iota(data.begin(), data.end(), 0);
    const auto view = TensorView::contiguous(data.data(), DType::I32, {2, 4, 3}).slice(1, 1, 3);
    std::vector<std::int32_t> copy(12, -1);
    copyToContiguous(view, copy.data(), {});
    EXPECT_EQ(copy, (std::vector<std::int32_t>{3, 4, 5, 6, 7, 8, 15, 16, 17, 18, 19, 20}));

    auto transposed = TensorView::contiguous(data.data(), DType::I32, {3, 2});
    transposed.strides = {1, 3, 0, 0};
    std::vector<std::int32_t> turned(6, -1);
    copyToContiguous(transposed, turned.data(), {});
    EXPECT_EQ(turned, (std::vector<std::int32_t>{0, 3, 1, 4, 2, 5}));
}

TEST(DeviceMemory, aBuildWithoutCudaSaysSo) {
    const CudaReport report = cudaReport();
    if (report.built) {
        GTEST_SKIP() << "this build has CUDA kernels";
    }
    EXPECT_EQ(report.deviceCount, 0);
    EXPECT_NE(report.problem.find("no CUDA kernels"), std::string::npos);
    EXPECT_THROW(DeviceBuffer(16, {DeviceKind::Cuda, 0}), Error);
}

} // namespace ecokv::kernels
