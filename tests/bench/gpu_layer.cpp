// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/gpu_layer.h"

#include "kernels/device_memory.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace ecokv::bench {

using namespace kernels;

namespace {

constexpr std::int64_t kRotatedBytes = 256 << 20;

void check(Status status) {
    if (status != Status::Ok) {
        throw std::runtime_error(std::string(statusText(status)) + " " + lastCudaError());
    }
}

at::Tensor onGpu(at::IntArrayRef shape) {
    return at::randn(shape, at::TensorOptions().device(at::kCUDA));
}

} // namespace

TensorView bf16View(const at::Tensor& tensor) {
    const Device device{tensor.is_cuda() ? DeviceKind::Cuda : DeviceKind::Cpu, 0};
    return TensorView::contiguous(tensor.data_ptr(), DType::BF16,
                                  {tensor.size(1), tensor.size(2), tensor.size(3)}, device);
}

ScoredLayer::ScoredLayer(std::int64_t tokens, at::Device device) {
    const auto options = at::TensorOptions().dtype(at::kFloat).device(device);
    for (at::Tensor* rows : {&cosine, &euclid, &norm, &attention}) {
        *rows = at::full({kGpuHeads, tokens}, -1.0, options);
    }
    out = at::full({5, kGpuHeads, tokens}, -1.0, options);
}

GpuLayer::GpuLayer(std::int64_t tokenCount, std::int64_t copies) : tokens(tokenCount) {
    const std::int64_t enough = kRotatedBytes / static_cast<std::int64_t>(keyBytes()) + 1;
    const at::Tensor centre = onGpu({1, kGpuHeads, 1, kGpuDim});
    for (std::int64_t i = 0; i < (copies > 0 ? copies : enough); ++i) {
        keys.push_back((onGpu({1, kGpuHeads, tokens, kGpuDim}) + centre).to(at::kBFloat16));
        values.push_back(onGpu({1, kGpuHeads, tokens, kGpuDim}).to(at::kBFloat16));
    }
    queries = onGpu({1, kGpuHeads * kGpuGroup, kGpuWindow, kGpuDim}).to(at::kBFloat16);
    positions.resize(static_cast<std::size_t>(tokens));
    std::iota(positions.begin(), positions.end(), 0);
}

KeyStatisticsInput GpuLayer::statisticsInput(const at::Tensor& rows) const {
    return {bf16View(rows), nullptr};
}

KeyStatisticsOutput GpuLayer::statisticsOutput(ScoredLayer& to) const {
    return {to.cosine.data_ptr<float>(), to.euclid.data_ptr<float>(), to.norm.data_ptr<float>(),
            to.heads.data()};
}

WindowImportanceInput GpuLayer::importanceInput(const at::Tensor& rows,
                                                const at::Tensor& windowQueries) const {
    return {bf16View(windowQueries), bf16View(rows), positions.data() + (tokens - kGpuWindow),
            positions.data()};
}

CompositeScoreInput GpuLayer::compositeInput(const ScoredLayer& from) {
    for (std::size_t head = 0; head < from.heads.size(); ++head) {
        m_redundancy[head] = from.heads[head].redundancyCosine;
        m_meanSquare[head] = from.heads[head].meanSquaredNorm;
    }
    CompositeScoreInput input;
    input.kvHeads = kGpuHeads;
    input.tokens = tokens - kGpuWindow;
    input.rowStride = tokens;
    input.attention = from.attention.data_ptr<float>();
    input.cosine = from.cosine.data_ptr<float>();
    input.euclid = from.euclid.data_ptr<float>();
    input.redundancy = m_redundancy.data();
    input.meanSquaredNorm = m_meanSquare.data();
    return input;
}

CompositeScoreOutput GpuLayer::compositeOutput(ScoredLayer& to) const {
    float* base = to.out.data_ptr<float>();
    const std::int64_t part = kGpuHeads * tokens;
    return {
        base, base + part, base + 2 * part, base + 3 * part, base + 4 * part, to.constant.data()};
}

void GpuLayer::scoreWith(const at::Tensor& rows, const at::Tensor& windowQueries, ScoredLayer& to,
                         Backend backend) {
    KeyStatisticsInput candidates = statisticsInput(rows);
    candidates.keys = candidates.keys.slice(1, 0, tokens - kGpuWindow);
    check(keyStatistics(candidates, statisticsOutput(to), backend));
    check(windowImportance(importanceInput(rows, windowQueries), to.attention.data_ptr<float>(),
                           backend));
    check(compositeScore(compositeInput(to), {}, compositeOutput(to), backend));
}

void GpuLayer::score(int round, ScoredLayer& to) {
    scoreWith(key(round), queries, to, Backend::Cuda);
}

ScoredLayer GpuLayer::scoreOnHost(int round) {
    ScoredLayer host(tokens, at::kCPU);
    scoreWith(key(round).cpu(), queries.cpu(), host, Backend::Cpu);
    return host;
}

} // namespace ecokv::bench
