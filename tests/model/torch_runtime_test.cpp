// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/torch_runtime.h"

#include "base/error.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <thread>

namespace ecokv::model {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

DType chosen(ComputeDType asked, DType stored, std::int64_t bytes, DeviceKind kind) {
    return chooseComputeDType(
        {.asked = asked, .stored = stored, .weightBytes = bytes, .device = {kind, 0}});
}

/// Field case F171: LibTorch lacks or crawls through many fp16 operations on a CPU.
TEST(TorchRuntime, fp16CheckpointsComputeInF32OnACpuAndAsStoredOnAGpu) {
    for (const std::int64_t bytes : {kGiB / 2, 20 * kGiB}) {
        EXPECT_EQ(chosen(ComputeDType::Auto, DType::F16, bytes, DeviceKind::Cpu), DType::F32);
    }
    EXPECT_EQ(chosen(ComputeDType::Auto, DType::F16, kGiB, DeviceKind::Cuda), DType::F16);
}

TEST(TorchRuntime, smallBf16ModelsComputeInF32OnACpu) {
    EXPECT_EQ(chosen(ComputeDType::Auto, DType::BF16, kGiB - 1, DeviceKind::Cpu), DType::F32);
    EXPECT_EQ(chosen(ComputeDType::Auto, DType::BF16, kGiB - 1, DeviceKind::Cuda), DType::BF16);
}

TEST(TorchRuntime, aNamedDTypeIsObeyed) {
    EXPECT_EQ(chosen(ComputeDType::F32, DType::BF16, 20 * kGiB, DeviceKind::Cuda), DType::F32);
    EXPECT_EQ(chosen(ComputeDType::BF16, DType::F32, 1, DeviceKind::Cpu), DType::BF16);
}

/// Field cases F164 and F165: the count belongs to a thread and is set before LibTorch is asked.
TEST(TorchRuntime, theThreadCountHoldsInEveryThreadThatRunsTheModel) {
    const TorchScope scope(1);
    EXPECT_EQ(at::get_num_threads(), 1);
    int elsewhere = 0;
    std::thread worker([&] {
        const TorchScope inner(1);
        elsewhere = at::get_num_threads();
    });
    worker.join();
    EXPECT_EQ(elsewhere, 1);
}

TEST(TorchRuntime, onlyModelsWorthSharingOutGetEveryCoreUnasked) {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    EXPECT_EQ(resolveThreads(0, 2'000'000), 1);
    EXPECT_GE(resolveThreads(0, 135'000'000), 1);
    EXPECT_LE(resolveThreads(0, 135'000'000), cores);
    EXPECT_EQ(resolveThreads(3, 2'000'000), 3);
}

/// Field case F166: the guard belongs to a thread too.
TEST(TorchRuntime, aScopeTurnsInferenceModeOnForItsThreadAndOffAgain) {
    EXPECT_FALSE(c10::InferenceMode::is_enabled());
    {
        const TorchScope scope(1);
        EXPECT_TRUE(c10::InferenceMode::is_enabled());
        std::thread([] { EXPECT_FALSE(c10::InferenceMode::is_enabled()); }).join();
    }
    EXPECT_FALSE(c10::InferenceMode::is_enabled());
}

/// Field case F161.
TEST(TorchRuntime, withoutADriverAGpuIsRefusedWithWhatWasBuiltAndFound) {
    if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) {
        GTEST_SKIP() << "this machine has an NVIDIA driver";
    }
    try {
        prepareDevice({DeviceKind::Cuda, 0});
        FAIL() << "a GPU was accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        EXPECT_NE(error.message().find("LibTorch 2."), std::string::npos) << error.message();
        EXPECT_NE(error.message().find("CUDA kernels"), std::string::npos) << error.message();
        EXPECT_NE(error.message().find("no NVIDIA driver"), std::string::npos) << error.message();
        EXPECT_NE(error.advice().find("--device cpu"), std::string::npos) << error.advice();
    }
    EXPECT_NO_THROW(prepareDevice({}));
}

} // namespace
} // namespace ecokv::model
