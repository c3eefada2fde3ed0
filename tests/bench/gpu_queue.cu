// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/gpu_queue.h"
#include "kernels/cuda/cuda_runtime.cuh"
#include "kernels/device_memory.h"

#include <chrono>
#include <stdexcept>
#include <string>

namespace ecokv::bench {

using namespace kernels;

namespace {

constexpr long long kSpinCycles = 3'000'000; // above 1.5 ms at 1.98 GHz

__global__ void spin(long long cycles) {
    const long long start = clock64();
    while (clock64() - start < cycles) {
    }
}

void require(cudaError_t result) {
    if (result != cudaSuccess) {
        throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(result));
    }
}

void require(Status status) {
    if (status != Status::Ok) {
        throw std::runtime_error(std::string(statusText(status)) + " " + lastCudaError());
    }
}

/// A CudaRuntime that never waits.
class QueueOnly : public cuda::CudaRuntime {
public:
    explicit QueueOnly(Device device) : CudaRuntime(device.index, nullptr) {}
    template <class T> void download(T*, const T*, std::int64_t) {}
};

class Events {
public:
    Events() {
        require(cudaEventCreate(&m_start));
        require(cudaEventCreate(&m_stop));
    }
    ~Events() {
        cudaEventDestroy(m_start);
        cudaEventDestroy(m_stop);
    }
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;

    void start() { require(cudaEventRecord(m_start)); }
    void stop() { require(cudaEventRecord(m_stop)); }
    double milliseconds() {
        require(cudaEventSynchronize(m_stop));
        float time = 0;
        require(cudaEventElapsedTime(&time, m_start, m_stop));
        return static_cast<double>(time);
    }

private:
    cudaEvent_t m_start{}, m_stop{};
};

} // namespace

void queueKeyStatistics(const KeyStatisticsInput& input, const KeyStatisticsOutput& output) {
    QueueOnly runtime(input.keys.device);
    require(cuda::keyStatisticsSteps(runtime, input, output));
}

void queueWindowImportance(const WindowImportanceInput& input, float* importance) {
    QueueOnly runtime(input.keys.device);
    require(cuda::windowImportanceSteps(runtime, input, importance));
}

void queueCompositeScore(const CompositeScoreInput& input, const CompositeScoreParams& params,
                         const CompositeScoreOutput& output) {
    QueueOnly runtime(Device{DeviceKind::Cuda, 0});
    require(cuda::compositeScoreSteps(runtime, input, params, output));
}

void queueCompaction(std::span<const RowsToCompact> heads) {
    QueueOnly runtime(heads.front().rows.device);
    require(cuda::compactHeadsSteps(runtime, heads));
}

double queuedMilliseconds(const Side& side, int round) {
    static Events events;
    spin<<<1, 1>>>(kSpinCycles);
    require(cudaGetLastError());
    events.start();
    side(round);
    events.stop();
    return events.milliseconds();
}

double wallMilliseconds(const Side& side, int round) {
    using Clock = std::chrono::steady_clock;
    require(cudaDeviceSynchronize());
    const auto start = Clock::now();
    side(round);
    require(cudaDeviceSynchronize());
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void queueCopy(void* to, const void* from, std::size_t bytes) {
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice));
}

double copyGigabytesPerSecond() {
    constexpr std::size_t kBytes = std::size_t{1} << 30;
    const DeviceBuffer from(kBytes, {DeviceKind::Cuda, 0});
    const DeviceBuffer to(kBytes, {DeviceKind::Cuda, 0});
    require(cudaMemset(from.data(), 0x5a, kBytes));
    measureWith(queuedMilliseconds);
    const Times times = timeRepeats(9, [&](int) { queueCopy(to.data(), from.data(), kBytes); });
    return 2e-6 * static_cast<double>(kBytes) / times.medianMs;
}

} // namespace ecokv::bench
