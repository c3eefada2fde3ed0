// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/torch_runtime.h"

#include "base/error.h"
#include "kernels/device_memory.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/headeronly/version.h>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

namespace ecokv::model {

namespace {

constexpr std::int64_t kParallelParameters = 16'000'000;
constexpr std::int64_t kSmallModelBytes = std::int64_t{1} << 30;

/// Folder of the LibTorch that is linked, so that its CUDA half is taken from the same build.
std::filesystem::path torchFolder() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&at::set_num_threads), &info) == 0 ||
        info.dli_fname == nullptr) {
        return {};
    }
    return std::filesystem::path(info.dli_fname).parent_path();
}

/// Loads libtorch_cuda once; returns why it could not be loaded, "" if it is there.
const std::string& loadCudaLibrary() {
    static std::once_flag once;
    static std::string problem;
    std::call_once(once, [] {
        const std::filesystem::path path = torchFolder() / "libtorch_cuda.so";
        if (!std::filesystem::exists(path)) {
            problem = fmt::format("there is no {}", path.string());
        } else if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
            const char* reason = dlerror();
            problem = reason != nullptr ? reason : "the library could not be loaded";
        }
    });
    return problem;
}

/// The kernel module's page, its device where /proc is hidden (some containers), or the one of WSL.
bool driverPresent() {
    return std::filesystem::exists("/proc/driver/nvidia/version") ||
           std::filesystem::exists("/dev/nvidiactl") || std::filesystem::exists("/dev/dxg");
}

/// bf16 instructions as the kernel lists them; oneDNN emulates bf16 slowly without them.
bool cpuHasBf16() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("flags")) {
            return line.find(" avx512_bf16") != std::string::npos ||
                   line.find(" amx_bf16") != std::string::npos;
        }
    }
    return false;
}

[[noreturn]] void throwNoDevice(Device device, const std::string& found) {
    const kernels::CudaReport report = kernels::cudaReport();
    throwBadInput(
        fmt::format("The model cannot run on cuda:{}. Built: LibTorch {}, CUDA kernels {}. Found: "
                    "{}.",
                    device.index, TORCH_VERSION,
                    report.built ? "for " + report.architectures : "not built", found),
        "Run with --device cpu, or install an NVIDIA driver that fits this LibTorch (check with "
        "nvidia-smi) and a CUDA build of LibTorch (the pinned torch wheel is one), and configure "
        "with ECOKV_CUDA=ON.");
}

} // namespace

TorchScope::TorchScope(int threads) {
    // Setting before anything asks LibTorch for its count: asking initialises OpenMP (F165).
    thread_local int current = 0;
    if (threads != current) {
        at::set_num_threads(threads);
        current = threads;
    }
}

int resolveThreads(int asked, std::int64_t parameters) {
    if (asked > 0) {
        return asked;
    }
    if (parameters < kParallelParameters) {
        return 1;
    }
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0) {
        return std::max(1, CPU_COUNT(&cpus));
    }
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void prepareDevice(Device device) {
    if (!driverPresent()) {
        if (device.kind == DeviceKind::Cuda) {
            throwNoDevice(device, "no NVIDIA driver on this machine");
        }
        return;
    }
    const std::string& problem = loadCudaLibrary();
    if (device.kind == DeviceKind::Cpu) {
        return;
    }
    if (!problem.empty()) {
        throwNoDevice(device, "a driver, but LibTorch has no CUDA half: " + problem);
    }
    if (!at::globalContext().hasCUDA()) {
        throwNoDevice(device, "a driver, but LibTorch sees no usable GPU");
    }
    if (const auto count = static_cast<int>(at::getNumGPUs()); device.index >= count) {
        throwNoDevice(device, fmt::format("{} GPU(s), numbered from 0", count));
    }
    if (const kernels::CudaReport report = kernels::cudaReport(); !report.built) {
        throwNoDevice(device, "a usable GPU, but the kernels of this build run on a CPU only");
    }
    // By default cuDNN rounds float32 factors to 10 bits; the patches would differ from the CPU's.
    at::globalContext().setAllowTF32CuDNN(false);
}

void keepFreedBlocks() {
#ifdef __GLIBC__
    constexpr int kLargestKept = 16 << 20;
    static std::once_flag once;
    std::call_once(once, [] {
        mallopt(M_MMAP_THRESHOLD, kLargestKept);
        mallopt(M_TRIM_THRESHOLD, kFreedBytesKept);
    });
#endif
}

DType chooseComputeDType(const ComputeDTypeRequest& request) {
    if (request.asked == ComputeDType::F32) {
        return DType::F32;
    }
    if (request.asked == ComputeDType::BF16) {
        return DType::BF16;
    }
    if (request.device.kind == DeviceKind::Cuda) {
        return request.stored;
    }
    const bool large = request.weightBytes >= kSmallModelBytes;
    return large && request.stored == DType::BF16 && cpuHasBf16() ? DType::BF16 : DType::F32;
}

} // namespace ecokv::model
