// SPDX-License-Identifier: GPL-3.0-or-later
// Every golden case (tests/data/golden, numpy) through the launchers, on the host backends: the
// chain window importance -> key statistics -> composite score -> top-k.
#include "kernels/composite_score.h"
#include "kernels/key_statistics.h"
#include "kernels/top_k.h"
#include "kernels/window_importance.h"
#include "support/golden_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ecokv::kernels {

namespace {

using test::GoldenArray;
using test::GoldenFile;

/// Parameters of one case; defaults as tests/data/golden/README.md states them.
struct Case {
    std::string path, policy;
    std::int64_t window = 0, recent = 0, sink = 0, budget = 0;
    double beta = 0.5;
    bool unrotated = false;
    CompositeScoreParams params;
};

Case readCase(const GoldenFile& file, const std::string& name) {
    Case c;
    c.path = "expected/" + name;
    c.policy = file.text(c.path, "policy").value();
    const auto integer = [&](const char* key, std::int64_t fallback) {
        return static_cast<std::int64_t>(
            file.number(c.path, key).value_or(static_cast<double>(fallback)));
    };
    c.window = integer("window", 0);
    c.recent = integer("recent", 0);
    c.sink = integer("sink", 0);
    c.budget = integer("budget", 0);
    c.beta = file.number(c.path, "beta").value_or(0.5);
    c.unrotated = file.text(c.path, "geometry").value_or("post") == "pre";
    c.params.alpha = static_cast<float>(file.number(c.path, "alpha").value_or(0.5));
    c.params.poolKernel = static_cast<int>(integer("kernel", 5));
    c.params.addValueNorm = integer("vnorm", 0) != 0;
    const std::string mode = file.text(c.path, "mode").value_or("avg");
    c.params.poolMode = mode == "max"   ? PoolMode::Max
                        : mode == "avg" ? PoolMode::Average
                                        : PoolMode::AveragePadded;
    return c;
}

/// Everything one layer of one case gives.
struct LayerResult {
    std::vector<float> attention, cosine, euclid, norm, valueNorm;
    std::vector<float> importance, diversityCosine, diversityEuclid, diversity, score;
    std::vector<HeadStatistics> heads;
    std::vector<double> redundancy, meanSquaredNorm;
    std::vector<std::uint8_t> constant;
};

struct Tensors {
    std::vector<float> keys, values, queries;
    std::vector<std::int64_t> keyShape, queryShape, queryPositions, keyPositions;
    std::vector<float> frequencies;
    RopeStyle style = RopeStyle::Half;
};

Tensors readTensors(const GoldenFile& file) {
    Tensors tensors;
    const GoldenArray keys = file.read("tensors/keys");
    const GoldenArray queries = file.read("tensors/window_queries");
    tensors.keys = keys.floats();
    tensors.keyShape = keys.shape;
    tensors.queries = queries.floats();
    tensors.queryShape = queries.shape;
    tensors.values = file.read("tensors/values").floats();
    tensors.queryPositions = file.read("tensors/window_positions").integers();
    tensors.keyPositions.resize(static_cast<std::size_t>(keys.shape[2]));
    std::iota(tensors.keyPositions.begin(), tensors.keyPositions.end(), 0);
    if (const auto theta = file.number("tensors/keys", "rope_theta")) {
        const auto dim = static_cast<double>(keys.shape[3]);
        for (std::int64_t i = 0; i < keys.shape[3] / 2; ++i) {
            const double exponent = -2.0 * static_cast<double>(i) / dim;
            tensors.frequencies.push_back(static_cast<float>(std::pow(*theta, exponent)));
        }
        tensors.style = file.text("tensors/keys", "rope_style") == "half" ? RopeStyle::Half
                                                                          : RopeStyle::Interleaved;
    }
    return tensors;
}

void measure(Tensors& tensors, const Case& c, std::int64_t layer, Backend backend,
             LayerResult& out) {
    const auto& k = tensors.keyShape;
    const auto& q = tensors.queryShape;
    const auto keys =
        TensorView::contiguous(tensors.keys.data(), DType::F32, {k[0], k[1], k[2], k[3]})[layer];
    const auto values =
        TensorView::contiguous(tensors.values.data(), DType::F32, {k[0], k[1], k[2], k[3]})[layer];
    const auto queries =
        TensorView::contiguous(tensors.queries.data(), DType::F32, {q[0], q[1], q[2], q[3]})[layer];
    const std::int64_t end = k[2] - c.recent;
    const auto candidates = static_cast<std::size_t>(k[1] * (end - c.sink));

    out.attention.resize(static_cast<std::size_t>(k[1] * k[2]));
    const WindowImportanceInput attention{queries.slice(1, q[2] - c.window, q[2]), keys,
                                          tensors.queryPositions.data() + (q[2] - c.window),
                                          tensors.keyPositions.data()};
    ASSERT_EQ(windowImportance(attention, out.attention.data(), backend), Status::Ok);

    for (auto* array : {&out.cosine, &out.euclid, &out.norm, &out.valueNorm}) {
        array->resize(candidates);
    }
    const Rotation rotation{tensors.style, tensors.frequencies.data(),
                            tensors.keyPositions.data() + c.sink, 1.0F};
    std::vector<HeadStatistics> valueHeads(static_cast<std::size_t>(k[1]));
    out.heads.resize(valueHeads.size());
    std::vector<float> unused(2 * candidates);
    const KeyStatisticsInput ofValues{values.slice(1, c.sink, end)};
    ASSERT_EQ(keyStatistics(ofValues,
                            {unused.data(), unused.data() + candidates, out.valueNorm.data(),
                             valueHeads.data()},
                            backend),
              Status::Ok);
    const KeyStatisticsInput ofKeys{keys.slice(1, c.sink, end), c.unrotated ? &rotation : nullptr};
    ASSERT_EQ(keyStatistics(
                  ofKeys, {out.cosine.data(), out.euclid.data(), out.norm.data(), out.heads.data()},
                  backend),
              Status::Ok);
}

void score(const Tensors& tensors, const Case& c, const CompositeScoreParams& params,
           Backend backend, LayerResult& out) {
    const std::size_t candidates = out.cosine.size();
    const std::size_t heads = out.heads.size();
    out.redundancy.resize(heads);
    out.meanSquaredNorm.resize(heads);
    out.constant.resize(3 * heads);
    for (std::size_t head = 0; head < heads; ++head) {
        const HeadStatistics& h = out.heads[head];
        const double mixed = c.beta * h.redundancyCosine + (1 - c.beta) * h.redundancyEuclid;
        out.redundancy[head] = c.policy == "snapkv" ? 0.0 : std::clamp(mixed, 0.0, 1.0);
        out.meanSquaredNorm[head] = h.meanSquaredNorm;
    }
    for (auto* array : {&out.importance, &out.diversityCosine, &out.diversityEuclid, &out.diversity,
                        &out.score}) {
        array->resize(candidates);
    }
    CompositeScoreInput input;
    input.kvHeads = static_cast<std::int64_t>(heads);
    input.tokens = static_cast<std::int64_t>(candidates / heads);
    input.rowStride = tensors.keyShape[2];
    input.attention = out.attention.data() + c.sink;
    input.cosine = out.cosine.data();
    input.euclid = out.euclid.data();
    input.valueNorm = out.valueNorm.data();
    input.redundancy = out.redundancy.data();
    input.meanSquaredNorm = out.meanSquaredNorm.data();
    const CompositeScoreOutput output{out.importance.data(),      out.diversityCosine.data(),
                                      out.diversityEuclid.data(), out.diversity.data(),
                                      out.score.data(),           out.constant.data()};
    ASSERT_EQ(compositeScore(input, params, output, backend), Status::Ok);
}

/// 1e-5 of the head's largest expected value. Not of each value: c is stored in fp32, so that in a
/// redundant head its last bit (6e-8) is stretched by the spread of c (2e-2 in anisotropic.h5).
void expectClose(const std::vector<float>& actual, const GoldenArray& expected, std::int64_t layer,
                 const std::string& what) {
    const auto rows = static_cast<std::size_t>(expected.shape[1]);
    const std::size_t count = actual.size() / rows;
    for (std::size_t head = 0; head < rows; ++head) {
        const double* wanted =
            expected.values.data() + static_cast<std::size_t>(layer) * actual.size() + head * count;
        double largest = 0;
        for (std::size_t i = 0; i < count; ++i) {
            largest = std::max(largest, std::fabs(wanted[i]));
        }
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_NEAR(actual[head * count + i], wanted[i], 1e-5 * largest)
                << what << " layer " << layer << " head " << head << " candidate " << i;
        }
    }
}

void expectKept(const std::vector<float>& scores, const GoldenFile& file, const Case& c,
                std::int64_t layer, std::int64_t tokens, Backend backend) {
    const GoldenArray kept = file.read(c.path + "/kept");
    const GoldenArray golden = file.read(c.path + "/score");
    const std::int64_t heads = kept.shape[1];
    const auto count = static_cast<std::size_t>(golden.shape[2]);
    const auto free = static_cast<std::size_t>(c.budget - c.sink - c.recent);
    for (std::int64_t head = 0; head < heads; ++head) {
        const auto row = static_cast<std::size_t>(layer * heads + head);
        std::vector<double> sorted(golden.values.begin() + static_cast<std::ptrdiff_t>(row * count),
                                   golden.values.begin() +
                                       static_cast<std::ptrdiff_t>((row + 1) * count));
        std::sort(sorted.begin(), sorted.end(), std::greater<>());
        const double range = sorted.front() - sorted.back();
        if (sorted[free - 1] - sorted[free] <= 1e-6 * range) {
            continue; // tied at the border in the oracle: only scores are compared
        }
        std::vector<std::int32_t> best(free);
        ASSERT_EQ(topK(scores.data() + static_cast<std::size_t>(head) * count,
                       static_cast<std::int64_t>(count), static_cast<std::int64_t>(free),
                       best.data(), backend),
                  Status::Ok);
        std::vector<std::int64_t> all;
        for (std::int64_t i = 0; i < c.sink; ++i) {
            all.push_back(i);
        }
        for (const std::int32_t index : best) {
            all.push_back(c.sink + index);
        }
        for (std::int64_t i = tokens - c.recent; i < tokens; ++i) {
            all.push_back(i);
        }
        const auto budget = static_cast<std::size_t>(c.budget);
        for (std::size_t i = 0; i < budget; ++i) {
            ASSERT_EQ(static_cast<double>(all[i]), kept.values[row * budget + i])
                << c.path << " layer " << layer << " head " << head << " slot " << i;
        }
    }
}

class GoldenScores : public testing::TestWithParam<std::tuple<const char*, Backend>> {};

void checkCase(const GoldenFile& file, Tensors& tensors, const Case& c, std::int64_t layer,
               Backend backend) {
    LayerResult result;
    measure(tensors, c, layer, backend, result);
    // The oracle's `importance` is without the intrinsic term, its `score` with it.
    CompositeScoreParams plain = c.params;
    plain.addValueNorm = false;
    score(tensors, c, plain, backend, result);
    expectClose(result.importance, file.read(c.path + "/importance"), layer, "importance");
    score(tensors, c, c.params, backend, result);
    expectClose(result.diversityCosine, file.read(c.path + "/diversity_cosine"), layer, "d_cos");
    expectClose(result.diversityEuclid, file.read(c.path + "/diversity_euclid"), layer, "d_euc");
    expectClose(result.diversity, file.read(c.path + "/diversity"), layer, "diversity");

    const GoldenArray cosine = file.read(c.path + "/r_cos");
    const GoldenArray euclid = file.read(c.path + "/r_euc");
    for (std::size_t head = 0; head < result.heads.size(); ++head) {
        const std::size_t index = static_cast<std::size_t>(layer) * result.heads.size() + head;
        EXPECT_NEAR(result.heads[head].redundancyCosine, cosine.values[index], 1e-6);
        EXPECT_NEAR(result.heads[head].redundancyEuclid, euclid.values[index], 1e-6);
    }
    std::vector<float> scores = result.score;
    if (c.policy == "keydiff") { // lowest cosine to the mean direction
        std::transform(result.cosine.begin(), result.cosine.end(), scores.begin(),
                       [](float cosineToMean) { return -cosineToMean; });
    }
    expectClose(scores, file.read(c.path + "/score"), layer, "score");
    expectKept(scores, file, c, layer, tensors.keyShape[2], backend);
}

} // namespace

TEST_P(GoldenScores, agreeWithTheIndependentProgram) {
    const auto& [name, backend] = GetParam();
    const GoldenFile file(std::string(name) + ".h5");
    Tensors tensors = readTensors(file);
    for (const std::string& caseName : file.children("expected")) {
        SCOPED_TRACE(std::string(name) + " " + caseName);
        const Case c = readCase(file, caseName);
        for (std::int64_t layer = 0; layer < tensors.keyShape[0]; ++layer) {
            checkCase(file, tensors, c, layer, backend);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, GoldenScores,
                         testing::Combine(testing::Values("plain", "anisotropic", "edge",
                                                          "rope_half", "rope_interleaved"),
                                          testing::Values(Backend::Reference, Backend::Cpu)),
                         [](const auto& info) {
                             const bool cpu = std::get<1>(info.param) == Backend::Cpu;
                             return std::string(std::get<0>(info.param)) + (cpu ? "_cpu" : "_ref");
                         });

} // namespace ecokv::kernels
