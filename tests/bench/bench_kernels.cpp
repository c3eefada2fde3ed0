// SPDX-License-Identifier: GPL-3.0-or-later
// C1 to C5 of the performance table, and the product that C7 stands on: the CPU kernels against
// eager at:: code, in alternating pairs on inputs that rotate through more than the caches hold. A
// wrong answer prints no time.
#include "bench/bench_layer.h"
#include "bench/eager_ops.h"
#include "bench/paired.h"
#include "kernels/matrix_vector.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>
#include <omp.h>

namespace ecokv::bench {

using namespace kernels;

namespace {

constexpr int kPairs = 11;

void require(bool right, const std::string& what) {
    if (!right) {
        throw std::runtime_error(what + " is wrong: no time is printed");
    }
}

at::Tensor asTensor(std::vector<float>& values, std::int64_t tokens) {
    return at::from_blob(values.data(), {1, kKvHeads, tokens}).clone();
}

double largestDifference(const at::Tensor& actual, const at::Tensor& wanted) {
    return ((actual - wanted).abs().max() / wanted.abs().max()).item<double>();
}

/// Our results against the fp64 reference, the eager ones against the same within bf16.
void checkAnswers(BenchLayer& layer) {
    layer.measureKeys(0, layer.tokens);
    const at::Tensor cosine = asTensor(layer.cosine, layer.tokens);
    const at::Tensor euclid = asTensor(layer.euclid, layer.tokens);
    layer.measureKeys(0, layer.tokens, Backend::Reference);
    require(largestDifference(cosine, asTensor(layer.cosine, layer.tokens)) < 1e-6, "c");
    require(largestDifference(euclid, asTensor(layer.euclid, layer.tokens)) < 1e-6, "e");
    const EagerStatistics eager = eagerStatistics(layer.key(0));
    require(largestDifference(eager.cosine.to(at::kFloat), cosine) < 0.03, "the eager c");
    require(largestDifference(eager.euclid.to(at::kFloat), euclid) < 0.03, "the eager e");
    layer.measureImportance(0);
    const at::Tensor attention = asTensor(layer.attention, layer.tokens);
    const at::Tensor wide =
        eagerImportance(layer.queries.to(at::kFloat), layer.key(0).to(at::kFloat));
    require(largestDifference(attention, wide) < 1e-5, "importance");
}

/// Reads the keys once on all threads and does nothing else.
void readKeys(const at::Tensor& keys) {
    const auto* words = static_cast<const std::uint64_t*>(keys.data_ptr());
    const std::int64_t count = keys.numel() / 4;
    std::uint64_t sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (std::int64_t i = 0; i < count; ++i) {
        sum += words[i];
    }
    volatile std::uint64_t sink = sum;
    static_cast<void>(sink);
}

void runStatistics(BenchLayer& layer, bool isLong) {
    const Side ours = [&](int round) { layer.measureKeys(round, layer.tokens); };
    const PairedTime time =
        timePairs(kPairs, ours, [&](int round) { eagerStatistics(layer.key(round)); });
    printRow({"C1", "norm, cosine, Euclid, redundancy", layer.tokens, time, isLong ? 30.0 : 8.0,
              isLong ? 60.0 : 15.0});
    const PairedTime read = timePairs(kPairs, ours, [&](int round) { readKeys(layer.key(round)); });
    fmt::print("     = {:.2f} reads of K (at {:.1f} GB/s; aim 1.4)\n", 1 / read.ratio,
               static_cast<double>(layer.keyBytes()) / read.referenceMs * 1e-6);
}

void runImportance(BenchLayer& layer, bool isLong) {
    const PairedTime time = timePairs(
        kPairs, [&](int round) { layer.measureImportance(round); },
        [&](int round) { eagerImportance(layer.queries, layer.key(round)); });
    printRow({"C2", "window importance", layer.tokens, time, 6, isLong ? 12.0 : 8.0});
}

void runLayer(BenchLayer& layer) {
    malloc_trim(0); // so that memory kept by the allocator counts as extra again
    const double before = residentBytes();
    resetPeak();
    layer.compress(0);
    const double extra = peakResidentBytes() - before;
    const PairedTime time = timePairs(
        kPairs, [&](int round) { layer.compress(round); },
        [&](int round) {
            eagerLayer(layer.queries, layer.key(round), layer.value(round), kBudget);
        });
    printRow({"C3", "MixKV-style layer to budget 64", layer.tokens, time, 6, 10});
    fmt::print("     extra memory {:.2f} K (must 0.25)\n",
               extra / static_cast<double>(layer.keyBytes()));
}

/// Half of the tokens, the same random ones for every head.
std::vector<std::int32_t> randomHalf(std::int64_t tokens) {
    const at::Tensor order = at::randperm(tokens).slice(0, 0, tokens / 2);
    const at::Tensor sorted = std::get<0>(order.sort()).to(at::kInt);
    const auto* first = sorted.data_ptr<std::int32_t>();
    return {first, first + tokens / 2};
}

void runCompaction(BenchLayer& layer) {
    const std::vector<std::int32_t> kept = randomHalf(layer.tokens);
    const auto count = static_cast<std::int64_t>(kept.size());
    const at::Tensor index =
        at::from_blob(const_cast<std::int32_t*>(kept.data()), {1, 1, count}, at::kInt)
            .to(at::kLong)
            .expand({1, kKvHeads, count})
            .contiguous();
    const at::Tensor wanted = eagerGather(layer.key(0), index);
    const Side ours = [&](int round) {
        const TensorView rows = viewOf(layer.key(round));
#pragma omp parallel for
        for (std::int64_t head = 0; head < kKvHeads; ++head) {
            compactRows(rows[head], kept.data(), count, Backend::Cpu);
        }
    };
    ours(0);
    require(at::equal(layer.key(0).slice(2, 0, count), wanted), "compaction");
    const PairedTime time =
        timePairs(kPairs, ours, [&](int round) { eagerGather(layer.key(round), index); });
    printRow({"C4", "compaction of K to half", layer.tokens, time, 4, 8});
    const PairedTime copy = timePairs(kPairs, ours, [&](int round) {
        const auto bytes = static_cast<std::size_t>(layer.keyBytes() / 2 / kKvHeads);
        auto* base = static_cast<std::byte*>(layer.key(round).data_ptr());
#pragma omp parallel for
        for (std::int64_t head = 0; head < kKvHeads; ++head) {
            std::byte* to = base + 2 * static_cast<std::size_t>(head) * bytes;
            std::memcpy(to, to + bytes, bytes);
        }
    });
    fmt::print("     {:.2f} of the speed of memcpy (aim 0.6)\n", copy.ratio);
}

void runTopK(BenchLayer& layer, std::int64_t k) {
    std::vector<at::Tensor> scores;
    for (int i = 0; i < 16; ++i) {
        scores.push_back(at::randn({kKvHeads, layer.tokens}));
    }
    std::vector<std::int32_t> kept(static_cast<std::size_t>(kKvHeads * k));
    const Side ours = [&](int round) {
        const auto* rows = scores[static_cast<std::size_t>(round) % 16].data_ptr<float>();
#pragma omp parallel for
        for (std::int64_t head = 0; head < kKvHeads; ++head) {
            topK(rows + head * layer.tokens, layer.tokens, k, kept.data() + head * k, Backend::Cpu);
        }
    };
    ours(0);
    const at::Tensor wanted = std::get<0>(std::get<1>(scores[0].topk(k, -1)).sort(-1));
    const at::Tensor indices = at::from_blob(kept.data(), {kKvHeads, k}, at::kInt).to(at::kLong);
    require(at::equal(indices, wanted), "top-k");
    const PairedTime time = timePairs(4 * kPairs, ours, [&](int round) {
        scores[static_cast<std::size_t>(round) % 16].topk(k, -1);
    });
    const bool half = k > 256;
    printRow(
        {"C5", fmt::format("top-k of 8 rows, k {}", k), layer.tokens, time, 1, half ? 2.0 : 1.0});
}

/// One row through layers as wide as a 1B model's, which decoding a token consists of.
void runRowProduct(at::ScalarType dtype) {
    constexpr std::int64_t kOutputs = 8192, kInputs = 2048, kLayers = 8;
    const at::Tensor row = at::randn({1, kInputs}).to(dtype);
    at::Tensor out = at::empty({1, kOutputs}, row.options());
    std::vector<at::Tensor> weights;
    for (std::int64_t i = 0; i < kLayers; ++i) {
        weights.push_back(at::randn({kOutputs, kInputs}).to(dtype));
    }
    const auto weight = [&](int round) {
        return weights[static_cast<std::size_t>(round) % kLayers];
    };
    const DType of = dtype == at::kFloat ? DType::F32 : DType::BF16;
    const TensorView from = TensorView::contiguous(row.data_ptr(), of, {kInputs});
    const TensorView to = TensorView::contiguous(out.data_ptr(), of, {kOutputs});
    const Side ours = [&](int round) {
        matrixVector(
            {TensorView::contiguous(weight(round).data_ptr(), of, {kOutputs, kInputs}), from, {}},
            to);
    };
    const Side eager = [&](int round) { at::linear(row, weight(round)); };
    ours(0);
    const at::Tensor wide = at::linear(row.to(at::kDouble), weights[0].to(at::kDouble));
    require(largestDifference(out.to(at::kDouble), wide) < 4e-3, "the product of a row");
    const PairedTime time = timePairs(4 * kPairs, ours, eager);
    const double gigabytes = static_cast<double>(weights[0].nbytes()) * 1e-9;
    printRow({"C7", fmt::format("one row, {} 8192 x 2048", at::toString(dtype)), 1, time, 1, 1.5});
    fmt::print("     reads {:.1f} GB/s, at::linear {:.1f} GB/s\n", gigabytes / time.oursMs * 1e3,
               gigabytes / time.referenceMs * 1e3);
}

void printFloor() {
    fmt::print("floor: read {:.1f} GB/s", readGigabytesPerSecond());
    const at::Tensor matrix = at::randn({1024, 1024}).to(at::kBFloat16);
    const PairedTime time = timePairs(
        7, [&](int) { at::matmul(matrix, matrix); }, [&](int) { at::matmul(matrix, matrix); });
    fmt::print(", bf16 GEMM {:.0f} GFLOP/s, {} threads\n",
               2 * std::pow(1024.0, 3) / time.oursMs * 1e-6, omp_get_max_threads());
}

} // namespace

/// Runs the rows whose ids are in `wanted`; all of them where it is empty.
int run(const std::set<std::string>& wanted) {
    const c10::InferenceMode inference;
    at::set_num_threads(omp_get_max_threads());
    at::manual_seed(1);
    printFloor();
    printHeader();
    const auto asked = [&](const char* id) { return wanted.empty() || wanted.count(id) > 0; };
    if (asked("C7")) {
        runRowProduct(at::kBFloat16);
        runRowProduct(at::kFloat);
    }
    for (const std::int64_t tokens : {8192, 32768}) {
        BenchLayer layer(tokens);
        checkAnswers(layer);
        if (asked("C1")) {
            runStatistics(layer, tokens > 8192);
        }
        if (asked("C2")) {
            runImportance(layer, tokens > 8192);
        }
        if (asked("C3")) {
            runLayer(layer);
        }
        if (asked("C4")) {
            runCompaction(layer);
        }
        for (const std::int64_t k : {std::int64_t{64}, std::int64_t{256}, tokens / 2}) {
            if (asked("C5")) {
                runTopK(layer, k);
            }
        }
    }
    return 0;
}

} // namespace ecokv::bench

int main(int argc, char** argv) {
    std::set<std::string> wanted(argv + 1, argv + argc);
    const bool busy = wanted.erase("--busy-machine") > 0;
    if (wanted.erase("--help") > 0) {
        fmt::print("usage: bench_kernels [--busy-machine] [C1 C2 C3 C4 C5]\n"
                   "  --busy-machine  one thread and processor time, where other work runs\n");
        return 0;
    }
    try {
        if (busy) {
            omp_set_num_threads(1);
            ecokv::bench::measureProcessorTime();
        }
        return ecokv::bench::run(wanted);
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench_kernels: {}\n", error.what());
        return 1;
    }
}
