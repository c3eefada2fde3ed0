// SPDX-License-Identifier: GPL-3.0-or-later
// scoreLayer and planLayer against the golden files: scores within 1e-5 of their range,
// redundancies within 1e-6, kept sets identical wherever the choice is not a tie (README of
// tests/data/golden).
#include "golden_layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ecokv::policy {
namespace {

using ecokv::test::GoldenArray;
using ecokv::test::GoldenFile;
using test::GoldenLayers;

constexpr double kRelative = 1e-5;
constexpr double kTieShare = 1e-6; ///< of the range of the scores of a head

struct Where {
    std::string file, name;
    std::int64_t layer = 0, head = 0;
};

std::ostream& operator<<(std::ostream& out, const Where& where) {
    return out << where.file << " " << where.name << " layer " << where.layer << " head "
               << where.head;
}

/// Row [layer, head] of an expected array.
std::vector<double> row(const GoldenArray& array, std::int64_t layer, std::int64_t head) {
    const std::int64_t count = array.shape[2];
    const auto begin = array.values.begin() + (layer * array.shape[1] + head) * count;
    return {begin, begin + count};
}

void expectRow(const std::vector<double>& expected, const std::vector<float>& all,
               const LayerScores& scores, const ResolvedPolicy& policy, const Where& where,
               const char* what) {
    double largest = 0;
    for (const double value : expected) {
        largest = std::max(largest, std::abs(value));
    }
    const float* actual = all.data() + where.head * scores.tokens;
    for (std::int64_t token = 0; token < scores.tokens; ++token) {
        const bool isCandidate = token >= policy.candidateBegin() && token < policy.candidateEnd();
        if (!isCandidate) {
            EXPECT_TRUE(std::isnan(actual[token])) << what << " of protected token " << token;
            continue;
        }
        const double want = expected[static_cast<std::size_t>(token - policy.candidateBegin())];
        EXPECT_NEAR(actual[token], want, kRelative * std::max(largest, 1e-30))
            << what << " of token " << token << " in " << where;
    }
}

/// True where the last kept and the first dropped candidate differ by more than a rounding.
bool choiceIsClear(std::vector<double> score, const ResolvedPolicy& policy) {
    const auto chosen = static_cast<std::size_t>(policy.budget - policy.sink - policy.recent);
    std::ranges::sort(score, std::greater<>());
    const double range = score.front() - score.back();
    return score[chosen - 1] - score[chosen] > kTieShare * range && range > 0;
}

/// Returns how many kept sets were clear enough to compare.
int checkLayer(const GoldenFile& file, GoldenLayers& layers, const Where& at,
               const ResolvedPolicy& policy, kernels::Backend backend) {
    const std::string path = "expected/" + at.name + "/";
    const LayerScores scores = scoreLayer(layers.layer(at.layer), policy, backend);
    ResolvedPolicy plain = policy; // the oracle's importance is without the intrinsic term
    plain.valueNorm = false;
    const LayerScores attention = scoreLayer(layers.layer(at.layer), plain, backend);
    const cache::LayerPlan plan = planLayer(scores, policy);
    int compared = 0;
    for (Where where = at; where.head < scores.kvHeads; ++where.head) {
        const auto head = static_cast<std::size_t>(where.head);
        const auto expected = [&](const char* name) {
            return row(file.read(path + name), where.layer, where.head);
        };
        expectRow(expected("importance"), attention.importance, scores, policy, where,
                  "importance");
        expectRow(expected("diversity_cosine"), scores.diversityCosine, scores, policy, where,
                  "cosine diversity");
        expectRow(expected("diversity_euclid"), scores.diversityEuclid, scores, policy, where,
                  "Euclidean diversity");
        expectRow(expected("diversity"), scores.diversity, scores, policy, where, "diversity");
        expectRow(expected("score"), scores.score, scores, policy, where, "score");
        const auto perHead = [&](const char* name) {
            const GoldenArray array = file.read(path + name);
            return array
                .values[static_cast<std::size_t>(where.layer * array.shape[1] + where.head)];
        };
        EXPECT_NEAR(scores.redundancyCosine[head], perHead("r_cos"), 1e-6) << where;
        EXPECT_NEAR(scores.redundancyEuclid[head], perHead("r_euc"), 1e-6) << where;
        if (policy.config.scorer != "snapkv") { // its expected r is the 0 it weighs with
            EXPECT_NEAR(scores.redundancy[head], perHead("r"), 1e-6) << where;
        }
        if (choiceIsClear(expected("score"), policy)) {
            const std::vector<double> kept = expected("kept");
            EXPECT_TRUE(std::ranges::equal(plan.keptRows[head], kept)) << "kept set of " << where;
            ++compared;
        }
    }
    return compared;
}

class GoldenPolicies : public ::testing::TestWithParam<std::tuple<const char*, kernels::Backend>> {
};

TEST_P(GoldenPolicies, scoresAndKeptSetsEqualTheIndependentProgram) {
    const auto& [name, backend] = GetParam();
    const GoldenFile file(name);
    GoldenLayers layers(file);
    int cases = 0;
    int compared = 0;
    for (const std::string& caseName : file.children("expected")) {
        const PolicyConfig config = test::goldenConfig(file, caseName);
        if (config.scorer == "keydiff") {
            continue; // not a policy of this version; the kernels are tested with it
        }
        const ResolvedPolicy policy = resolve(config, layers.tokens());
        ASSERT_TRUE(policy.compresses) << policy.note;
        for (std::int64_t layer = 0; layer < layers.layers(); ++layer) {
            compared += checkLayer(file, layers, {name, caseName, layer, 0}, policy, backend);
        }
        ++cases;
    }
    EXPECT_GE(cases, 1);
    EXPECT_GE(compared, cases) << "hardly any kept set could be compared";
}

INSTANTIATE_TEST_SUITE_P(
    Files, GoldenPolicies,
    ::testing::Combine(::testing::Values("plain.h5", "anisotropic.h5", "edge.h5", "rope_half.h5",
                                         "rope_interleaved.h5"),
                       ::testing::Values(kernels::Backend::Reference, kernels::Backend::Cpu)));

} // namespace
} // namespace ecokv::policy
