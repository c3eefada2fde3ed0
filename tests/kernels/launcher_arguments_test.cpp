// SPDX-License-Identifier: GPL-3.0-or-later
// What launchers refuse, with which status, before any kernel runs.
#include "kernels/device_memory.h"
#include "kernels/key_statistics.h"
#include "kernels/window_importance.h"

#include <gtest/gtest.h>

#include <array>

namespace ecokv::kernels {

namespace {

struct Arguments {
    std::array<float, 64> memory{};
    std::array<float, 64> out{};
    std::array<HeadStatistics, 8> heads{};
    std::array<std::int64_t, 64> positions{};

    TensorView tensor(std::initializer_list<std::int64_t> shape, DType dtype = DType::F32,
                      Device device = {}) {
        return TensorView::contiguous(memory.data(), dtype, shape, device);
    }
    Status statistics(const TensorView& keys, Backend backend = Backend::Cpu,
                      const Rotation* rotation = nullptr) {
        return keyStatistics({keys, rotation}, {out.data(), out.data(), out.data(), heads.data()},
                             backend);
    }
    Status importance(const TensorView& queries, const TensorView& keys, float scale = 0.0F) {
        return windowImportance({queries, keys, positions.data(), positions.data(), scale},
                                out.data(), Backend::Cpu);
    }
};

} // namespace

TEST(LauncherArguments, keysMustBeThreeDimensionalFloatsWithUnitStride) {
    Arguments a;
    EXPECT_EQ(a.statistics(a.tensor({2, 4, 8})), Status::Ok);
    EXPECT_EQ(a.statistics(a.tensor({4, 8})), Status::BadShape);
    EXPECT_EQ(a.statistics(a.tensor({2, 4, 8}, DType::I32)), Status::UnsupportedDType);
    TensorView strided = a.tensor({2, 4, 4});
    strided.strides[2] = 2;
    EXPECT_EQ(a.statistics(strided), Status::BadShape);
    TensorView missing = a.tensor({2, 4, 8});
    missing.data = nullptr;
    EXPECT_EQ(a.statistics(missing), Status::BadShape);
    EXPECT_EQ(keyStatistics({a.tensor({2, 4, 8}), nullptr}, {}, Backend::Cpu), Status::BadShape);
}

TEST(LauncherArguments, operandsMustLiveWhereTheBackendRuns) {
    Arguments a;
    const TensorView onGpu = a.tensor({2, 4, 8}, DType::F32, {DeviceKind::Cuda, 0});
    EXPECT_EQ(a.statistics(onGpu, Backend::Cpu), Status::DeviceMismatch);
    EXPECT_EQ(a.statistics(a.tensor({2, 4, 8}), Backend::Cuda), Status::DeviceMismatch);
    if (!cudaReport().built) {
        EXPECT_EQ(a.statistics(onGpu, Backend::Cuda), Status::CudaNotBuilt);
    }
}

TEST(LauncherArguments, rotationNeedsPairsAndTables) {
    Arguments a;
    Rotation rotation{RopeStyle::Half, a.memory.data(), a.positions.data(), 1.0F};
    EXPECT_EQ(a.statistics(a.tensor({2, 4, 8}), Backend::Cpu, &rotation), Status::Ok);
    EXPECT_EQ(a.statistics(a.tensor({2, 4, 7}), Backend::Cpu, &rotation), Status::BadShape);
    rotation.attentionScaling = 0.0F;
    EXPECT_EQ(a.statistics(a.tensor({2, 4, 8}), Backend::Cpu, &rotation), Status::BadShape);
    rotation = {RopeStyle::Half, nullptr, a.positions.data(), 1.0F};
    EXPECT_EQ(a.statistics(a.tensor({2, 4, 8}), Backend::Cpu, &rotation), Status::BadShape);
}

TEST(LauncherArguments, queryHeadsMustBeAMultipleOfKvHeads) {
    Arguments a;
    EXPECT_EQ(a.importance(a.tensor({4, 2, 8}), a.tensor({2, 4, 8})), Status::Ok);
    EXPECT_EQ(a.importance(a.tensor({3, 2, 8}), a.tensor({2, 4, 8})), Status::BadShape);
    EXPECT_EQ(a.importance(a.tensor({4, 2, 4}), a.tensor({2, 4, 8})), Status::BadShape);
    EXPECT_EQ(a.importance(a.tensor({4, 2, 8}), a.tensor({2, 4, 8}), -1.0F), Status::BadShape);
}

TEST(LauncherArguments, everyStatusHasASentence) {
    for (const Status status : {Status::Ok, Status::BadShape, Status::UnsupportedDType,
                                Status::DeviceMismatch, Status::CudaNotBuilt, Status::CudaFailed}) {
        EXPECT_STRNE(statusText(status), "unknown status");
    }
}

} // namespace ecokv::kernels
