// SPDX-License-Identifier: GPL-3.0-or-later
// Replay of files that another program made: the golden cases, whose expected scores and survivors
// come from independent numpy code, and files that lack things.
#include "analysis/replay.h"
#include "base/error.h"
#include "policy/choice_names.h"
#include "support/foreign_file.h"
#include "support/golden_file.h"
#include "support/sample_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace ecokv::analysis {

namespace {

using test::ForeignFile;
using test::GoldenArray;
using test::GoldenFile;

std::shared_ptr<const trace::TraceReader> readerOf(const std::filesystem::path& path) {
    return std::make_shared<trace::TraceReader>(path);
}

std::filesystem::path goldenPath(const std::string& name) {
    return std::filesystem::path(ECOKV_SOURCE_DIR) / "tests/data/golden" / name;
}

/// The settings of /expected/<case>; defaults as tests/data/golden/README.md states them.
policy::PolicyConfig configOf(const GoldenFile& file, const std::string& name) {
    const std::string at = "expected/" + name;
    policy::PolicyConfig config = policy::parsePolicy(file.text(at, "policy").value());
    config.budget = static_cast<std::int64_t>(file.number(at, "budget").value());
    config.window = static_cast<int>(file.number(at, "window").value());
    config.recent = static_cast<std::int64_t>(file.number(at, "recent").value());
    config.sink = static_cast<std::int64_t>(file.number(at, "sink").value_or(0));
    config.alpha = file.number(at, "alpha").value_or(0.5);
    config.beta = file.number(at, "beta").value_or(0.5);
    config.pool = static_cast<int>(file.number(at, "kernel").value_or(5));
    config.poolMode = valueNamed(policy::kPoolModes, file.text(at, "mode").value_or("avg")).value();
    config.valueNorm = file.number(at, "vnorm").value_or(0) != 0;
    config.geometry =
        valueNamed(policy::kGeometries, file.text(at, "geometry").value_or("post")).value();
    return config;
}

/// One head of an expected array [layer, kvHead, n].
std::vector<double> headOf(const GoldenArray& array, std::size_t head) {
    const auto begin = array.values.begin() + static_cast<std::ptrdiff_t>(head) * array.shape[2];
    return {begin, begin + array.shape[2]};
}

/// The choice at the edge of the budget is no tie (README of the golden files).
bool isClear(std::vector<double> score, std::int64_t chosen) {
    std::ranges::sort(score, std::greater<>());
    const auto edge = static_cast<std::size_t>(chosen);
    return score[edge - 1] - score[edge] > 1e-6 * (score.front() - score.back());
}

/// Returns how many kept sets could be compared.
int compareCase(const GoldenFile& file, const std::string& name, const ReplayResult& replayed) {
    const std::string at = "expected/" + name + "/";
    const GoldenArray kept = file.read(at + "kept"), score = file.read(at + "score");
    const GoldenArray cosine = file.read(at + "r_cos"), euclid = file.read(at + "r_euc");
    const std::int64_t chosen =
        replayed.policy.budget - replayed.policy.sink - replayed.policy.recent;
    int compared = 0;
    std::size_t index = 0;
    for (std::size_t layer = 0; layer < replayed.plans.size(); ++layer) {
        for (std::size_t head = 0; head < replayed.plans[layer].keptRows.size(); ++head, ++index) {
            const policy::LayerScores& scores = *replayed.layers[layer];
            EXPECT_NEAR(scores.redundancyCosine[head], cosine.values[index], 1e-6) << name;
            EXPECT_NEAR(scores.redundancyEuclid[head], euclid.values[index], 1e-6) << name;
            const std::vector<double> expected = headOf(score, index);
            const double largest = std::abs(*std::ranges::max_element(
                expected, {}, [](double value) { return std::abs(value); }));
            const float* own = scores.score.data() +
                               static_cast<std::int64_t>(head) * scores.tokens +
                               replayed.policy.candidateBegin();
            for (std::size_t i = 0; i < expected.size(); ++i) {
                EXPECT_NEAR(own[i], expected[i], 1e-5 * largest) << name << " token " << i;
            }
            if (isClear(expected, chosen)) {
                EXPECT_TRUE(
                    std::ranges::equal(replayed.plans[layer].keptRows[head], headOf(kept, index)))
                    << name << " head " << index;
                ++compared;
            }
        }
    }
    return compared;
}

class GoldenReplay : public testing::TestWithParam<const char*> {};

Error errorOf(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    return {ErrorKind::Internal, "nothing was thrown"};
}

} // namespace

TEST_P(GoldenReplay, ofAForeignTraceEqualsTheIndependentProgram) {
    const GoldenFile file(GetParam());
    Replayer replayer(readerOf(goldenPath(GetParam())));
    int cases = 0, compared = 0;
    for (const std::string& name : file.children("expected")) {
        const std::string scorer = file.text("expected/" + name, "policy").value();
        if (scorer == "keydiff") {
            continue; // its expected score is compared where the scorer is tested
        }
        const policy::PolicyConfig config = configOf(file, name);
        compared += compareCase(file, name, replayer.replay({config}));
        ++cases;
    }
    EXPECT_GE(cases, 1);
    EXPECT_GE(compared, cases);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenReplay,
                         testing::Values("plain.h5", "anisotropic.h5", "edge.h5", "rope_half.h5",
                                         "rope_interleaved.h5"));

TEST(ForeignReplay, ofKeysAndQueriesAloneSeesWhatTheQueriesSee) {
    const test::TemporaryFolder folder;
    {
        // One head, keys along two axes; the query row looks along the second one, so that tokens
        // 1 and 4 of the six get all the attention: e^(20/sqrt 2) against 1.
        ForeignFile file(folder / "a.h5");
        file.addValues("tensors/keys", {1, 1, 6, 2}, {1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0});
        file.addValues("tensors/window_queries", {1, 1, 1, 2}, {0, 20});
    }
    Replayer replayer(readerOf(folder / "a.h5"));
    const ReplayResult replayed =
        replayer.replay({policy::parsePolicy("snapkv:budget=3,window=1,recent=1,pool=1")});
    EXPECT_EQ(replayed.plans[0].keptRows[0], (std::vector<std::int32_t>{1, 4, 5}));
    const double weight = std::exp(20 / std::sqrt(2.0));
    EXPECT_NEAR(replayed.retainedMass[0], (2 * weight + 1) / (2 * weight + 4), 1e-6);
}

TEST(ForeignReplay, usesTruePositionsForWhatARowSees) {
    const test::TemporaryFolder folder;
    {
        ForeignFile file(folder / "a.h5");
        file.addValues("tensors/keys", {1, 1, 4, 2}, {0, 1, 0, 1, 0, 1, 0, 1});
        file.addValues("tensors/window_queries", {1, 1, 1, 2}, {0, 1});
        file.addIntegers("tensors/positions", {10, 20, 30, 40});
        file.addIntegers("tensors/window_positions", {25}); // sees the first two keys only
    }
    Replayer replayer(readerOf(folder / "a.h5"));
    const ReplayResult replayed =
        replayer.replay({.policy = policy::parsePolicy("snapkv:budget=2,window=1,recent=0,pool=1"),
                         .tokenScores = true});
    const std::vector<float>& importance = replayed.layers[0]->importance;
    EXPECT_NEAR(importance[0], 0.5, 1e-6);
    EXPECT_NEAR(importance[1], 0.5, 1e-6);
    EXPECT_EQ(importance[2], 0.0F);
    EXPECT_EQ(importance[3], 0.0F);
}

TEST(ForeignReplay, theWindowStandsAtTheLastPositionsWhereTheFileDoesNotSay) {
    const test::TemporaryFolder folder;
    {
        ForeignFile file(folder / "a.h5");
        file.add("tensors/keys", {1, 1, 4, 2});
        file.add("tensors/window_queries", {1, 1, 2, 2});
        file.addIntegers("tensors/positions", {10, 20, 30, 40});
    }
    EXPECT_EQ(readerOf(folder / "a.h5")->windowPositions(), (std::vector<std::int64_t>{30, 40}));
}

TEST(ForeignReplay, ofAFileThatCannotBeReplayedSaysWhatItLacks) {
    const test::TemporaryFolder folder;
    {
        ForeignFile file(folder / "a.h5");
        file.add("tensors/keys", {1, 1, 4, 2});
    }
    const Error queries = errorOf([&] { Replayer replayer(readerOf(folder / "a.h5")); });
    EXPECT_EQ(queries.kind(), ErrorKind::BadInput);
    EXPECT_NE(queries.message().find("no /tensors/window_queries"), std::string::npos);
    {
        ForeignFile file(folder / "b.h5");
        file.add("tensors/keys", {1, 1, 4, 2});
        file.add("tensors/window_queries", {1, 1, 2, 2});
        file.addIntegers("tensors/positions", {5, 6, 7, 8});
        file.addIntegers("tensors/window_positions", {2, 8});
    }
    const Error blind = errorOf([&] { Replayer replayer(readerOf(folder / "b.h5")); });
    EXPECT_NE(blind.message().find("stands at position 2, before every key (5 to 8)"),
              std::string::npos)
        << blind.message();
}

} // namespace ecokv::analysis
