// SPDX-License-Identifier: GPL-3.0-or-later
// G1 to G5 of the performance table: the CUDA kernels against the machine's copy bandwidth and
// against eager at:: code on the same GPU, on inputs that rotate through more than the cache holds.
// A wrong answer prints no time. "kernels" is device time, "call" the wall clock of a launcher.
#include "bench/eager_ops.h"
#include "bench/gpu_layer.h"
#include "bench/gpu_queue.h"
#include "kernels/device_memory.h"
#include "kernels/top_k.h"
#include "model/torch_runtime.h"

#include <ATen/Context.h>
#include <c10/core/InferenceMode.h>

#include <cmath>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace ecokv::bench {

using namespace kernels;

namespace {

constexpr int kPairs = 11;
constexpr int kRepeats = 21;
constexpr int kLayers = 28;

void require(bool right, const std::string& what) {
    if (!right) {
        throw std::runtime_error(what + " is wrong: no time is printed");
    }
}

double largestDifference(const at::Tensor& actual, const at::Tensor& wanted) {
    const at::Tensor other = wanted.to(actual.device());
    return ((actual - other).abs().max() / other.abs().max()).item<double>();
}

const char* verdict(bool must, bool aim) {
    return aim ? "aim met" : must ? "met" : "MISSED";
}

/// "at least": a share of the copy bandwidth, a ratio.
void printShare(const std::string& id, const std::string& what, double share, double must,
                double aim) {
    fmt::print("{:<4}{:<64}{:>8.2f}  must {:.2f}, aim {:.2f}: {}\n", id, what, share, must, aim,
               verdict(share >= must, share >= aim));
    std::fflush(stdout);
}

/// "at most": microseconds. `limit` 0 = no target of its own.
void printTime(const std::string& id, const std::string& what, const Times& times, double limit) {
    fmt::print("{:<4}{:<64}{:>8.1f} us (worst of the middle 80 % {:.1f})", id, what,
               1e3 * times.medianMs, 1e3 * times.worstMs);
    if (limit > 0) {
        fmt::print("  must {:.0f}: {}", limit, verdict(1e3 * times.medianMs <= limit, false));
    }
    fmt::print("\n");
    std::fflush(stdout);
}

/// The GPU's answers against the CPU backend's, and eager's against them within bf16.
void checkAnswers(GpuLayer& layer) {
    ScoredLayer gpu(layer.tokens, at::kCUDA);
    layer.score(0, gpu);
    const ScoredLayer host = layer.scoreOnHost(0);
    const std::int64_t past = layer.tokens - kGpuWindow;
    const auto flat = [&](const at::Tensor& rows) {
        return rows.flatten().slice(0, 0, kGpuHeads * past);
    };
    require(largestDifference(flat(gpu.cosine), flat(host.cosine)) < 2e-6, "c");
    require(largestDifference(flat(gpu.euclid), flat(host.euclid)) < 2e-6, "e");
    require(largestDifference(flat(gpu.norm), flat(host.norm)) < 2e-6, "|k|");
    require(largestDifference(gpu.attention, host.attention) < 5e-5, "importance");
    for (std::int64_t part = 0; part < 5; ++part) {
        require(largestDifference(flat(gpu.out[part]), flat(host.out[part])) < 1e-4,
                fmt::format("score output {}", part));
    }
    for (std::size_t head = 0; head < gpu.heads.size(); ++head) {
        require(std::abs(gpu.heads[head].redundancyCosine - host.heads[head].redundancyCosine) <
                    1e-6,
                "r_cos");
        require(std::abs(gpu.heads[head].redundancyEuclid - host.heads[head].redundancyEuclid) <
                    1e-6,
                "r_euc");
    }
    const at::Tensor eager =
        eagerImportance(layer.queries.to(at::kFloat), layer.key(0).to(at::kFloat));
    require(largestDifference(gpu.attention, eager[0]) < 1e-4, "importance against eager");
}

/// A rotation of the whole layer, as geometry = pre undoes it.
struct Frequencies {
    Frequencies(std::int64_t dim, const std::vector<std::int64_t>& positions) {
        for (std::int64_t i = 0; i < dim / 2; ++i) {
            inverse.push_back(static_cast<float>(
                std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(dim))));
        }
        rotation.inverseFrequencies = inverse.data();
        rotation.positions = positions.data();
    }
    std::vector<float> inverse;
    Rotation rotation;
};

/// G1: what the scoring of all layers reads, over the copy bandwidth.
void runAllLayers(GpuLayer& layer, double copyRate) {
    ScoredLayer to(layer.tokens, at::kCUDA);
    const Side kernels = [&](int round) {
        for (int i = 0; i < kLayers; ++i) {
            queueKeyStatistics(layer.statisticsInput(layer.key(round + i)),
                               layer.statisticsOutput(to));
        }
    };
    const Side calls = [&](int round) {
        for (int i = 0; i < kLayers; ++i) {
            keyStatistics(layer.statisticsInput(layer.key(round + i)), layer.statisticsOutput(to),
                          Backend::Cuda);
        }
    };
    const auto share = [&](const Times& times) {
        return kLayers * layer.keyBytes() / times.medianMs * 1e-6 / copyRate;
    };
    measureWith(queuedMilliseconds);
    const Times queued = timeRepeats(kRepeats, kernels);
    printShare("G1",
               fmt::format("|k|, c, e, r of {} layers x {} tokens, kernels, of copy rate", kLayers,
                           layer.tokens),
               share(queued), 0.75, 0.90);
    measureWith(wallMilliseconds);
    const Times called = timeRepeats(kRepeats, calls);
    printShare("G1", "the same through the launcher, which returns r to the host", share(called),
               0.75, 0.90);
    fmt::print("    {:.1f} us a layer as kernels, {:.1f} us as calls\n",
               1e3 * queued.medianMs / kLayers, 1e3 * called.medianMs / kLayers);
}

/// G2: one layer, each launcher apart and together.
void runOneLayer(GpuLayer& layer, double limit) {
    ScoredLayer to(layer.tokens, at::kCUDA);
    layer.score(0, to);
    const CompositeScoreInput composite = layer.compositeInput(to);
    const Frequencies rope(kGpuDim, layer.positions);
    const auto statistics = [&](int round, const Rotation* rotation) {
        KeyStatisticsInput input = layer.statisticsInput(layer.key(round));
        input.rotation = rotation;
        queueKeyStatistics(input, layer.statisticsOutput(to));
    };
    const auto importance = [&](int round) {
        queueWindowImportance(layer.importanceInput(layer.key(round), layer.queries),
                              to.attention.data_ptr<float>());
    };
    const auto score = [&](int) { queueCompositeScore(composite, {}, layer.compositeOutput(to)); };
    measureWith(queuedMilliseconds);
    const auto print = [&](const char* what, double target, const Side& side) {
        printTime("G2", fmt::format("{}, {} tokens, kernels", what, layer.tokens),
                  timeRepeats(kRepeats, side), target);
    };
    print("key statistics", 0, [&](int round) { statistics(round, nullptr); });
    print("key statistics of un-rotated keys", 0,
          [&](int round) { statistics(round, &rope.rotation); });
    print("window importance", 0, importance);
    print("composite score", 0, score);
    print("one layer, all three", limit, [&](int round) {
        statistics(round, nullptr);
        importance(round);
        score(round);
    });
    measureWith(wallMilliseconds);
    printTime("G2", "one layer through the launchers, wall clock",
              timeRepeats(kRepeats, [&](int round) { layer.score(round, to); }), 0);
}

/// G3: a layer's score against eager code, launches of both sides included.
void runAgainstEager(GpuLayer& layer, double must) {
    ScoredLayer to(layer.tokens, at::kCUDA);
    const Side ours = [&](int round) { layer.score(round, to); };
    const Side eager = [&](int round) {
        eagerScore(layer.queries, layer.key(round), layer.value(round));
    };
    measureWith(wallMilliseconds);
    const PairedTime time = timePairs(kPairs, ours, eager);
    fmt::print(
        "G3  MixKV-style score of a layer, {} tokens, wall clock: eager {:.1f} us, ours {:.1f} us, "
        "{:.1f}x (worst {:.1f}x), must {:.0f}x: {}\n",
        layer.tokens, 1e3 * time.referenceMs, 1e3 * time.oursMs, time.ratio, time.worst, must,
        verdict(time.ratio >= must, false));
    measureWith(queuedMilliseconds);
    const CompositeScoreInput composite = layer.compositeInput(to);
    const Side queued = [&](int round) {
        queueKeyStatistics(layer.statisticsInput(layer.key(round)), layer.statisticsOutput(to));
        queueWindowImportance(layer.importanceInput(layer.key(round), layer.queries),
                              to.attention.data_ptr<float>());
        queueCompositeScore(composite, {}, layer.compositeOutput(to));
    };
    const PairedTime device = timePairs(kPairs, queued, eager);
    fmt::print(
        "G3  the same as device time: eager {:.1f} us, ours {:.1f} us, {:.1f}x (worst {:.1f}x)\n",
        1e3 * device.referenceMs, 1e3 * device.oursMs, device.ratio, device.worst);
    std::fflush(stdout);
}

/// G4: there is no CUDA top-k; scores go to the host, whose kernel chooses.
void runTopK(std::int64_t tokens) {
    const at::Tensor scores = at::randn({kGpuHeads, tokens}, at::TensorOptions().device(at::kCUDA));
    std::vector<float> host(static_cast<std::size_t>(kGpuHeads * tokens));
    std::vector<std::int32_t> kept(256);
    const Device gpu{DeviceKind::Cuda, 0};
    const Side ours = [&](int) {
        copyBytes(host.data(), {}, scores.data_ptr(), gpu, host.size() * sizeof(float));
        for (std::int64_t head = 0; head < kGpuHeads; ++head) {
            topK(host.data() + head * tokens, tokens, 256, kept.data(), Backend::Cpu);
        }
    };
    measureWith(wallMilliseconds);
    const PairedTime time = timePairs(kPairs, ours, [&](int) { scores.topk(256, -1); });
    fmt::print("G4  top-k 256 of 8 x {}: no CUDA kernel; download and CPU top-k {:.1f} us, "
               "at::topk on the "
               "GPU {:.1f} us (must 8 us): MISSED\n",
               tokens, 1e3 * time.oursMs, 1e3 * time.referenceMs);
    std::fflush(stdout);
}

/// Rows of all heads' keys and values of one copy.
std::vector<RowsToCompact> headsOf(const GpuLayer& layer, int round,
                                   std::span<const std::int32_t> kept) {
    std::vector<RowsToCompact> heads;
    for (const at::Tensor* part : {&layer.key(round), &layer.value(round)}) {
        for (std::int64_t head = 0; head < kGpuHeads; ++head) {
            heads.push_back({bf16View(*part)[head], kept});
        }
    }
    return heads;
}

/// Half of the tokens at random, ascending i64.
at::Tensor randomHalf(std::int64_t tokens) {
    return std::get<0>(at::randperm(tokens).slice(0, 0, tokens / 2).sort());
}

/// G5: half of the rows of all heads' keys and values moves to the front, in place.
void runCompaction(GpuLayer& layer, double copyRate) {
    const std::int64_t count = layer.tokens / 2;
    const at::Tensor order = randomHalf(layer.tokens);
    const at::Tensor kept = order.to(at::kInt).contiguous();
    const std::span rows(kept.data_ptr<std::int32_t>(), static_cast<std::size_t>(count));
    const at::Tensor wanted = layer.key(0).index_select(2, order.to(at::kCUDA));
    require(compactHeads(headsOf(layer, 0, rows), Backend::Cuda) == Status::Ok, "compaction");
    require(at::equal(layer.key(0).slice(2, 0, count), wanted), "compaction");
    const double bytes = 2 * layer.keyBytes(); // half of K and V read, as much written
    measureWith(queuedMilliseconds);
    const Times queued =
        timeRepeats(kRepeats, [&](int round) { queueCompaction(headsOf(layer, round, rows)); });
    printShare("G5",
               fmt::format("compaction of K and V, 8 x {} rows to half, in place, of copy rate",
                           layer.tokens),
               bytes / queued.medianMs * 1e-6 / copyRate, 0.85, 0.85);
    measureWith(wallMilliseconds);
    printTime(
        "G5", "the same through the launcher, wall clock",
        timeRepeats(kRepeats,
                    [&](int round) { compactHeads(headsOf(layer, round, rows), Backend::Cuda); }),
        0);
}

/// Every kernel twice on 32768 tokens, for a profiler.
void runOnce() {
    GpuLayer layer(32768, 2);
    ScoredLayer to(layer.tokens, at::kCUDA);
    const Frequencies rope(kGpuDim, layer.positions);
    for (int round = 0; round < 2; ++round) {
        layer.score(round, to);
        KeyStatisticsInput input = layer.statisticsInput(layer.key(round));
        input.rotation = &rope.rotation;
        queueKeyStatistics(input, layer.statisticsOutput(to));
    }
    const at::Tensor kept = randomHalf(layer.tokens).to(at::kInt).contiguous();
    const std::span rows(kept.data_ptr<std::int32_t>(), static_cast<std::size_t>(kept.numel()));
    require(compactHeads(headsOf(layer, 0, rows), Backend::Cuda) == Status::Ok, "compaction");
}

} // namespace

int run(bool once) {
    const c10::InferenceMode inference;
    model::prepareDevice({DeviceKind::Cuda, 0});
    at::manual_seed(1);
    if (once) {
        runOnce();
        return 0;
    }
    const double copyRate = copyGigabytesPerSecond();
    fmt::print(
        "{}; copy {:.0f} GB/s read plus written; keys 8 heads x tokens x 128 bf16, 32 window rows "
        "of 32 query heads\n",
        cudaReport().deviceName, copyRate);
    std::fflush(stdout);
    for (const std::int64_t tokens : {8192, 32768}) {
        GpuLayer layer(tokens);
        checkAnswers(layer);
        runAllLayers(layer, copyRate);
        runOneLayer(layer, tokens == 8192 ? 15 : 55);
        runAgainstEager(layer, tokens == 8192 ? 20 : 8);
        runTopK(tokens);
        runCompaction(layer, copyRate);
    }
    fmt::print("G6  mean heat map of 32768 keys: no CUDA kernel, not measured\n");
    return 0;
}

} // namespace ecokv::bench

int main(int argc, char** argv) {
    const std::string argument = argc > 1 ? argv[1] : "";
    if (!argument.empty() && argument != "--once") {
        fmt::print("usage: bench_gpu_kernels [--once]\n"
                   "  --once  runs every kernel a few times, for a profiler\n");
        return argument == "--help" ? 0 : 2;
    }
    try {
        return ecokv::bench::run(argument == "--once");
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench_gpu_kernels: {}\n", error.what());
        return 1;
    }
}
