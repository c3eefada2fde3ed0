// SPDX-License-Identifier: GPL-3.0-or-later
// Replay against what a live run does with the same tensors: score each layer, plan it, measure
// what it costs.
#include "analysis/replay.h"

#include "base/error.h"
#include "policy/policy.h"
#include "policy/policy_list.h"
#include "policy/retention.h"
#include "support/sample_trace.h"
#include "support/synthetic_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace ecokv::analysis {

namespace {

std::shared_ptr<const trace::TraceReader> readerOf(const std::filesystem::path& path) {
    return std::make_shared<trace::TraceReader>(path);
}

/// One layer as LayerPipeline treats it.
struct LiveLayer {
    policy::LayerScores scores;
    cache::LayerPlan plan;
    policy::Retention retention;
};

LiveLayer liveLayer(const test::SyntheticOptions& options, std::int64_t index,
                    const policy::PolicyConfig& config) {
    test::SyntheticLayer layer;
    test::fillSyntheticLayer(options, index, layer);
    const trace::Dimensions& d = options.dimensions;
    const auto resolved = policy::resolve(
        config, d.tokens,
        {static_cast<std::int32_t>(d.layers), static_cast<std::int32_t>(d.kvHeads), "synthetic"});
    LiveLayer live;
    live.scores = policy::scoreLayer(layer.input, resolved, kernels::Backend::Cpu);
    live.plan = policy::planLayer(live.scores, resolved);
    live.retention = policy::measureRetention(layer.input, live.plan, resolved.judgedRows());
    return live;
}

/// Bitwise, so that NaN equals NaN.
bool same(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void expectSameAsLive(const test::SyntheticOptions& options, const policy::PolicyConfig& config,
                      const ReplayResult& replayed) {
    SCOPED_TRACE(policy::policyText(config));
    const auto heads = static_cast<std::size_t>(options.dimensions.kvHeads);
    ASSERT_EQ(replayed.plans.size(), static_cast<std::size_t>(options.dimensions.layers));
    for (std::size_t layer = 0; layer < replayed.plans.size(); ++layer) {
        const LiveLayer live = liveLayer(options, static_cast<std::int64_t>(layer), config);
        EXPECT_EQ(replayed.plans[layer].keptRows, live.plan.keptRows);
        EXPECT_TRUE(same(replayed.layers[layer]->score, live.scores.score));
        EXPECT_EQ(replayed.layers[layer]->redundancy, live.scores.redundancy);
        for (std::size_t head = 0; head < heads; ++head) {
            EXPECT_NEAR(replayed.retainedMass[layer * heads + head],
                        live.retention.retainedMass[head], 2e-5);
            EXPECT_EQ(static_cast<std::size_t>(replayed.budgetPerHead[layer * heads + head]),
                      live.plan.keptRows[head].size());
        }
    }
}

template <class Call> Error errorOf(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    return {ErrorKind::Internal, "nothing was thrown"};
}

class ReplayOfDType : public testing::TestWithParam<DType> {};

} // namespace

TEST_P(ReplayOfDType, givesTheNumbersOfALiveRunForEveryPolicyAndAllocator) {
    const test::TemporaryFolder folder;
    test::SyntheticOptions options;
    options.dtype = GetParam();
    Replayer replayer(readerOf(writeSyntheticTrace(folder / "a.ecokv.h5", options)));
    for (const policy::PolicyInfo& info : policy::policies()) {
        for (const std::string& allocator : policy::allocators()) {
            if (allocator == "static") {
                continue; // needs a file of weights
            }
            for (const int budget : {1000, 33, 24}) {
                policy::PolicyConfig config = policy::parsePolicy(info.name);
                config.allocator = allocator;
                config.budget = budget;
                config.window = 8;
                if (info.name == "h2o") {
                    continue; // needs every row
                }
                expectSameAsLive(options, config, replayer.replay({config}));
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Recorded, ReplayOfDType,
                         testing::Values(DType::F32, DType::BF16, DType::F16),
                         [](const auto& info) { return std::string(dtypeName(info.param)); });

TEST(Replay, followsEverySettingOfThePolicy) {
    const test::TemporaryFolder folder;
    const test::SyntheticOptions options;
    Replayer replayer(readerOf(writeSyntheticTrace(folder / "a.ecokv.h5", options)));
    const std::string list =
        "ecokv:alpha=0.9,ecokv:beta=0.1,ecokv:geometry=pre,ecokv:sink=4,"
        "ecokv:recent=3,ecokv:window=1,ecokv:window=40,ecokv:pool=1,"
        "ecokv:pool=7,pool_mode=max,ecokv:vnorm=on,mixkv:window=5,random:seed=9,"
        "snapkv:window=16,recent=2";
    for (const std::string& text : policy::splitPolicyList(list)) {
        policy::PolicyConfig config = policy::parsePolicy(text);
        config.budget = 30;
        expectSameAsLive(options, config, replayer.replay({config}));
    }
}

TEST(Replay, aNewBudgetUsesTheScoresOfTheOneBefore) {
    const test::TemporaryFolder folder;
    const test::SyntheticOptions options;
    Replayer replayer(readerOf(writeSyntheticTrace(folder / "a.ecokv.h5", options)));
    policy::PolicyConfig config = policy::parsePolicy("ecokv:recent=8");
    config.budget = 40;
    replayer.replay({config});
    const std::int64_t misses = replayer.statistics().misses;
    config.budget = 20;
    const ReplayResult again = replayer.replay({config});
    EXPECT_EQ(replayer.statistics().misses, misses);
    expectSameAsLive(options, config, again);
    config.alpha = 0.75; // new scores from the same measurements
    const ReplayResult mixed = replayer.replay({config});
    EXPECT_EQ(replayer.statistics().misses, misses + options.dimensions.layers);
    expectSameAsLive(options, config, mixed);
}

TEST(Replay, smallBudgetsMoveTheCandidatesAndStillEqualALiveRun) {
    const test::TemporaryFolder folder;
    test::SyntheticOptions options;
    options.dimensions = {2, 4, 2, 1300, 16, 8}; // blocks of 512 keys are added up once only
    Replayer replayer(readerOf(writeSyntheticTrace(folder / "a.ecokv.h5", options)));
    for (const char* scorer : {"ecokv", "ecokv:geometry=pre"}) {
        for (const int budget : {128, 40, 127, 16, 90, 41, 300}) { // recent = min(32, B / 4)
            policy::PolicyConfig config = policy::parsePolicy(scorer);
            config.budget = budget;
            expectSameAsLive(options, config, replayer.replay({config}));
        }
    }
}

TEST(Replay, tellsWhatARunWouldHaveRecordedPerToken) {
    const test::TemporaryFolder folder;
    const test::SyntheticOptions options;
    Replayer replayer(readerOf(writeSyntheticTrace(folder / "a.ecokv.h5", options)));
    const policy::PolicyConfig config = policy::parsePolicy("mixkv:budget=30,window=10");
    ReplayRequest request{config};
    EXPECT_TRUE(replayer.replay(request).layers[1]->importance.empty());
    request.tokenScores = true;
    const ReplayResult replayed = replayer.replay(request);
    const LiveLayer live = liveLayer(options, 1, config);
    const policy::LayerScores& scores = *replayed.layers[1];
    EXPECT_TRUE(same(scores.importance, live.scores.importance));
    EXPECT_TRUE(same(scores.diversityCosine, live.scores.diversityCosine));
    EXPECT_TRUE(same(scores.diversityEuclid, live.scores.diversityEuclid));
    EXPECT_TRUE(same(scores.keyNorm, live.scores.keyNorm));
    EXPECT_TRUE(same(scores.valueNorm, live.scores.valueNorm));
    EXPECT_EQ(scores.anisotropy, live.scores.anisotropy);
}

TEST(Replay, predictsTheOutputErrorThatALiveRunMeasures) {
    const test::TemporaryFolder folder;
    const test::SyntheticOptions options;
    Replayer replayer(readerOf(writeSyntheticTrace(folder / "a.ecokv.h5", options)));
    for (const char* text :
         {"ecokv:budget=20", "random:budget=20", "full", "snapkv:budget=50,window=32"}) {
        const policy::PolicyConfig config = policy::parsePolicy(text);
        const ReplayResult replayed = replayer.replay({.policy = config, .outputError = true});
        ASSERT_EQ(replayed.outputError.size(), 6U);
        for (std::int64_t layer = 0; layer < 3; ++layer) {
            const LiveLayer live = liveLayer(options, layer, config);
            for (std::int64_t head = 0; head < 2; ++head) {
                EXPECT_NEAR(replayed.outputError[static_cast<std::size_t>(layer * 2 + head)],
                            live.retention.outputError[static_cast<std::size_t>(head)], 1e-5)
                    << text;
            }
        }
    }
}

TEST(Replay, staysInsideItsMemoryAndGivesTheSameWithAlmostNone) {
    const test::TemporaryFolder folder;
    const test::SyntheticOptions options;
    const auto path = writeSyntheticTrace(folder / "a.ecokv.h5", options);
    Replayer plenty(readerOf(path));
    for (const std::size_t limit : {std::size_t{0}, std::size_t{20000}, std::size_t{60000}}) {
        Replayer tight(readerOf(path), {.cacheBytes = limit});
        for (int budget = 20; budget < 80; budget += 10) {
            policy::PolicyConfig config = policy::parsePolicy("ecokv");
            config.budget = budget;
            EXPECT_EQ(tight.replay({config}).kept(), plenty.replay({config}).kept());
            const ReplayStatistics kept = tight.statistics();
            EXPECT_LE(kept.tensorBytes + kept.measurementBytes, limit);
        }
    }
}

TEST(Replay, isCancelledBetweenLayersAndGoesOnAfterwards) {
    const test::TemporaryFolder folder;
    const test::SyntheticOptions options;
    Replayer replayer(readerOf(writeSyntheticTrace(folder / "a.ecokv.h5", options)));
    const policy::PolicyConfig config = policy::parsePolicy("ecokv:budget=20");
    CancellationSource stop;
    std::int64_t seen = 0;
    const Error error = errorOf([&] {
        replayer.replay(
            {config},
            [&](const Progress& progress) {
                EXPECT_EQ(progress.total, 3);
                seen = progress.done;
                stop.cancel();
            },
            stop.token());
    });
    EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
    EXPECT_GE(seen, 1);
    expectSameAsLive(options, config, replayer.replay({config}));
}

TEST(Replay, takesTurnsWhenSeveralThreadsAsk) {
    const test::TemporaryFolder folder;
    const test::SyntheticOptions options;
    Replayer replayer(readerOf(writeSyntheticTrace(folder / "a.ecokv.h5", options)));
    std::vector<std::vector<std::uint8_t>> kept(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        threads.emplace_back([&, i] {
            policy::PolicyConfig config = policy::parsePolicy("ecokv");
            config.budget = 20 + 10 * static_cast<std::int64_t>(i);
            kept[i] = replayer.replay({config}).kept();
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const auto expected = 6 * (20 + 10 * static_cast<std::int64_t>(i));
        EXPECT_EQ(std::count(kept[i].begin(), kept[i].end(), 1), expected);
    }
}

TEST(Replay, refusesWhatTheTraceCannotAnswerWithBothNumbers) { // F031
    const test::TemporaryFolder folder;
    test::SyntheticOptions options;
    options.values = false;
    options.rotation = false;
    Replayer replayer(readerOf(writeSyntheticTrace(folder / "a.ecokv.h5", options)));
    const auto refusal = [&](const std::string& text, bool outputError = false) {
        const Error error = errorOf([&] {
            replayer.replay({.policy = policy::parsePolicy(text), .outputError = outputError});
        });
        EXPECT_EQ(error.kind(), ErrorKind::Usage) << text;
        return error.message() + " " + error.advice();
    };
    EXPECT_NE(refusal("ecokv:budget=20,window=41").find("observes 41 query rows"),
              std::string::npos);
    EXPECT_NE(refusal("ecokv:budget=20,window=41").find("recorded the last 40"), std::string::npos);
    EXPECT_NE(refusal("mixkv:budget=20,window=8").find("no /tensors/values"), std::string::npos);
    EXPECT_NE(refusal("ecokv:budget=20,geometry=pre").find("rope_theta"), std::string::npos);
    EXPECT_NE(refusal("ecokv:budget=20", true).find("output error needs values"),
              std::string::npos);
    EXPECT_NE(refusal("ecokv:budget=20,sink=4,recent=30").find("4 sinks + 30 recent"),
              std::string::npos);
}

TEST(Replay, ofATraceThatStoppedNamesTheMissingLayer) {
    const test::TemporaryFolder folder;
    test::SampleOptions options;
    options.layersWritten = 2;
    Replayer replayer(readerOf(test::writeSampleTrace(folder / "a.ecokv.h5", options)));
    const Error error =
        errorOf([&] { replayer.replay({policy::parsePolicy("ecokv:budget=12,window=4")}); });
    EXPECT_NE(error.message().find("is not recorded"), std::string::npos) << error.message();
}

} // namespace ecokv::analysis
