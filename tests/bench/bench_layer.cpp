// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/bench_layer.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

namespace ecokv::bench {

using namespace kernels;

namespace {

constexpr std::int64_t kRotatedBytes = 112 << 20;

} // namespace

void check(Status status) {
    if (status != Status::Ok) {
        throw std::runtime_error(statusText(status));
    }
}

TensorView viewOf(const at::Tensor& tensor) {
    return TensorView::contiguous(tensor.data_ptr(), DType::BF16,
                                  {tensor.size(1), tensor.size(2), tensor.size(3)});
}

BenchLayer::BenchLayer(std::int64_t tokenCount) : tokens(tokenCount), heads(kKvHeads) {
    const auto copies = std::max<std::int64_t>(2, kRotatedBytes / keyBytes() + 1);
    const at::Tensor centre = at::randn({1, kKvHeads, 1, kDim});
    for (std::int64_t i = 0; i < copies; ++i) {
        keys.push_back((at::randn({1, kKvHeads, tokens, kDim}) + centre).to(at::kBFloat16));
        values.push_back(at::randn({1, kKvHeads, tokens, kDim}).to(at::kBFloat16));
    }
    queries = at::randn({1, kKvHeads * kGroup, kWindow, kDim}).to(at::kBFloat16);
    for (auto* array : {&cosine, &euclid, &norm, &valueNorm, &unused, &attention, &importance,
                        &byCosine, &byEuclid, &diversity, &score}) {
        array->resize(static_cast<std::size_t>(kKvHeads * tokens));
    }
    positions.resize(static_cast<std::size_t>(tokens));
    std::iota(positions.begin(), positions.end(), 0);
}

void BenchLayer::measureKeys(int round, std::int64_t count, Backend backend) {
    check(keyStatistics({viewOf(key(round)).slice(1, 0, count), nullptr},
                        {cosine.data(), euclid.data(), norm.data(), heads.data()}, backend));
}

void BenchLayer::measureImportance(int round) {
    check(windowImportance({viewOf(queries), viewOf(key(round)),
                            positions.data() + (tokens - kWindow), positions.data()},
                           attention.data(), Backend::Cpu));
}

void BenchLayer::scoreCandidates(std::int64_t count) {
    std::array<double, kKvHeads> redundancy{};
    std::array<double, kKvHeads> meanSquare{};
    for (std::size_t head = 0; head < heads.size(); ++head) {
        redundancy[head] = heads[head].redundancyCosine;
        meanSquare[head] = heads[head].meanSquaredNorm;
    }
    std::array<std::uint8_t, 3 * kKvHeads> constant{};
    CompositeScoreParams params;
    params.alpha = 1.0F;
    params.poolMode = PoolMode::AveragePadded;
    params.addValueNorm = true;
    CompositeScoreInput input;
    input.kvHeads = kKvHeads;
    input.tokens = count;
    input.rowStride = tokens;
    input.attention = attention.data();
    input.cosine = cosine.data();
    input.euclid = euclid.data();
    input.valueNorm = valueNorm.data();
    input.redundancy = redundancy.data();
    input.meanSquaredNorm = meanSquare.data();
    check(compositeScore(input, params,
                         {importance.data(), byCosine.data(), byEuclid.data(), diversity.data(),
                          score.data(), constant.data()},
                         Backend::Cpu));
}

void BenchLayer::compress(int round) {
    const std::int64_t past = tokens - kWindow;
    const TensorView keyRows = viewOf(key(round));
    const TensorView valueRows = viewOf(value(round));
    measureImportance(round);
    measureKeys(round, past);
    std::vector<HeadStatistics> valueHeads(kKvHeads);
    check(keyStatistics({valueRows.slice(1, 0, past), nullptr},
                        {unused.data(), unused.data(), valueNorm.data(), valueHeads.data()},
                        Backend::Cpu));
    scoreCandidates(past);
#pragma omp parallel for
    for (std::int64_t head = 0; head < kKvHeads; ++head) {
        std::array<std::int32_t, kBudget> kept{};
        topK(score.data() + head * past, past, kBudget - kWindow, kept.data(), Backend::Cpu);
        std::iota(kept.end() - kWindow, kept.end(), static_cast<std::int32_t>(past));
        compactRows(keyRows[head], kept.data(), kBudget, Backend::Cpu);
        compactRows(valueRows[head], kept.data(), kBudget, Backend::Cpu);
    }
}

} // namespace ecokv::bench
