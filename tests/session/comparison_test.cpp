// SPDX-License-Identifier: GPL-3.0-or-later
// Comparisons through the engine, on the demo model: each row equals the run of its policy alone.
#include "session/engine.h"
#include "trace/trace_reader.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>

namespace ecokv::session {

namespace {

const std::filesystem::path kResources = std::filesystem::path(ECOKV_SOURCE_DIR) / "resources";

class SilentListener : public RunListener {
public:
    void progress(const Progress&) override {}
    void text(Stream stream, const std::string& piece) override {
        (stream == Stream::Full ? full : policy) += piece;
    }
    void note(const std::string& sentence) override { notes.push_back(sentence); }
    void ledger(const Ledger&) override {}

    std::string full, policy;
    std::vector<std::string> notes;
};

class TraceFile {
public:
    TraceFile() {
        std::string name = (std::filesystem::temp_directory_path() / "ecokv-XXXXXX").string();
        m_folder = mkdtemp(name.data());
    }
    ~TraceFile() {
        std::error_code ignored;
        std::filesystem::remove_all(m_folder, ignored);
    }
    std::filesystem::path path() const { return m_folder / "a.ecokv.h5"; }

private:
    std::filesystem::path m_folder;
};

RunConfig question() {
    RunConfig config;
    config.model = kResources / "demo-model";
    config.images = {kResources / "demo-documents" / "notice-board.png"};
    config.prompt = "ZXY?";
    config.maxNewTokens = 8;
    config.device = DeviceChoice::Cpu;
    return config;
}

RunConfig comparing(const std::vector<std::string>& policies) {
    RunConfig config = question();
    for (const std::string& text : policies) {
        config.compare.push_back(policy::parsePolicy(text));
    }
    return config;
}

RunResult run(const RunConfig& config) {
    SilentListener listener;
    return loadEngine()->run(config, listener, {});
}

const std::vector<std::string> kPolicies{"full",
                                         "snapkv:budget=24",
                                         "ecokv:budget=24",
                                         "ecokv:budget=20,window=16,geometry=pre",
                                         "mixkv:budget=16,recent=4,window=12",
                                         "random:budget=24,seed=5",
                                         "streaming:budget=20",
                                         "random:budget=20",
                                         "random:budget=16"};

} // namespace

TEST(Comparison, everyPolicyKeepsAndAnswersAsItDoesAlone) {
    const TraceFile file;
    RunConfig config = comparing(kPolicies);
    config.trace = file.path();
    const RunResult together = run(config);
    ASSERT_EQ(together.compared.size(), kPolicies.size());
    const trace::TraceReader reader(file.path());
    for (std::size_t i = 0; i < kPolicies.size(); ++i) {
        SCOPED_TRACE(kPolicies[i]);
        const TraceFile alone;
        RunConfig one = question();
        one.policy = policy::parsePolicy(kPolicies[i]);
        one.trace = alone.path();
        const RunResult single = run(one);
        const ComparedPolicy& row = together.compared[i];
        EXPECT_EQ(row.answer.tokenIds, single.answer.tokenIds);
        EXPECT_EQ(row.answer.text, single.answer.text);
        EXPECT_EQ(row.ledger.keptTokens, single.ledger.keptTokens);
        EXPECT_EQ(row.ledger.keptBytes, single.ledger.keptBytes);
        EXPECT_EQ(row.answer.cache.keptLength, single.answer.cache.keptLength);
        EXPECT_EQ(row.answer.cache.bytes, single.answer.cache.bytes);
        const auto here = reader.policy(row.traceId);
        const auto there = trace::TraceReader(alone.path()).policy("0");
        EXPECT_EQ(here.kept, there.kept);
        EXPECT_EQ(here.budgetPerHead, there.budgetPerHead);
        if (i > 0) {
            EXPECT_EQ(here.outputError, there.outputError); // predicted, as replay predicts it
        }
    }
}

TEST(Comparison, theTraceHoldsScoresAndHeadsOfTheFirstEcokv) {
    const TraceFile together, alone;
    RunConfig config = comparing(kPolicies);
    config.trace = together.path();
    run(config);
    RunConfig one = question();
    one.policy = policy::parsePolicy("ecokv:budget=24");
    one.trace = alone.path();
    run(one);
    const trace::TraceReader many(together.path()), single(alone.path());
    EXPECT_EQ(std::get<std::string>(many.run()->attributes.at("scores_policy")), "2");
    EXPECT_EQ(many.headMetrics(), single.headMetrics());
    for (const std::string& name : single.headMetrics()) {
        EXPECT_EQ(many.headMetric(name), single.headMetric(name)) << name;
    }
    for (const char* name : {"importance", "diversity"}) {
        const auto ours = many.scores(name, 3, 1), theirs = single.scores(name, 3, 1);
        ASSERT_EQ(ours.size(), theirs.size());
        for (std::size_t i = 0; i < ours.size(); ++i) {
            EXPECT_TRUE(ours[i] == theirs[i] || (std::isnan(ours[i]) && std::isnan(theirs[i])));
        }
    }
}

TEST(Comparison, theFullCacheIsTheMeasureOfItself) {
    const RunResult result = run(comparing({"ecokv:budget=24"}));
    const ComparedPolicy& full = result.compared.front();
    EXPECT_EQ(full.policy, "full");
    EXPECT_EQ(full.meanKl, 0.0);
    EXPECT_EQ(full.top1Agreement, 1.0);
    EXPECT_EQ(full.perplexityRatio, 1.0);
    EXPECT_FALSE(full.divergence);
    EXPECT_EQ(full.ledger.keptBytes, full.ledger.fullBytes);
    EXPECT_EQ(result.fullAnswer.text, "325");
    EXPECT_EQ(result.compared.back().policy, "random");
}

// The forced pass must not disturb the free one, nor either the next policy.
TEST(Comparison, aPolicyNamedTwiceGivesTheSameNumbersTwice) {
    const RunResult result =
        run(comparing({"random:budget=24", "ecokv:budget=24", "random:budget=24"}));
    const ComparedPolicy &first = result.compared[1], &again = result.compared[3];
    ASSERT_EQ(first.policy, "random");
    ASSERT_EQ(again.policy, "random");
    EXPECT_EQ(first.kl, again.kl);
    EXPECT_EQ(first.forcedLogprob, again.forcedLogprob);
    EXPECT_EQ(first.answer.tokenIds, again.answer.tokenIds);
    EXPECT_EQ(first.measuredErrors, again.measuredErrors);
    ASSERT_TRUE(first.divergence); // 24 random tokens do not answer
    EXPECT_GT(*first.meanKl, 0.5);
}

TEST(Comparison, forcedAndFreeAgreeUpToTheFirstDivergence) {
    const RunResult result = run(comparing({"random:budget=24", "streaming:budget=24"}));
    for (const ComparedPolicy& row : result.compared) {
        const auto steps = static_cast<std::int64_t>(row.top1Agree.size());
        const std::int64_t left = row.divergence ? row.divergence->step : steps;
        for (std::int64_t step = 0; step < steps && step <= left; ++step) {
            EXPECT_EQ(row.top1Agree[static_cast<std::size_t>(step)] != 0, step != left)
                << row.policy << " step " << step;
        }
        EXPECT_EQ(row.top1Agree.front(), 1); // decided by the prefill, which all share
        EXPECT_EQ(row.kl.front(), 0.0F);
    }
}

TEST(Comparison, theTraceHoldsAllPoliciesAndTheContinuation) {
    const TraceFile file;
    RunConfig config = comparing({"ecokv:budget=24", "mixkv:budget=2000", "snapkv:budget=24"});
    config.trace = file.path();
    const RunResult result = run(config);
    const trace::TraceReader reader(file.path());
    EXPECT_TRUE(reader.complete());
    EXPECT_EQ(reader.policyIds(), (std::vector<std::string>{"0", "1", "2", "3", "4", "5"}));
    EXPECT_EQ(reader.decode()->tokenIds.size(), result.fullAnswer.tokenIds.size());
    EXPECT_EQ(std::get<std::string>(reader.run()->attributes.at("scores_policy")), "1");
    for (const ComparedPolicy& row : result.compared) {
        const auto forced = reader.policyForced(row.traceId);
        ASSERT_TRUE(forced);
        EXPECT_EQ(forced->kl, row.kl);
        EXPECT_EQ(forced->logprob, row.forcedLogprob);
        const auto policy = reader.policy(row.traceId);
        EXPECT_EQ(policy.measuredError, row.measuredErrors);
        EXPECT_EQ(std::get<double>(policy.attributes.at("mean_kl")), *row.meanKl);
        EXPECT_EQ(std::get<std::string>(policy.attributes.at("answer")), row.answer.text);
    }
    // what keeps everything is recorded as such
    const auto whole = reader.policy(result.compared[2].traceId).kept;
    EXPECT_EQ(std::accumulate(whole.begin(), whole.end(), std::size_t{0}), whole.size());
    EXPECT_NE(result.compared[2].note.find("not compressed"), std::string::npos);
}

// F030: the words of the full answer, but from a cache of 48 tokens.
TEST(Comparison, anAnswerThatNeverLeavesTheFullOneRecordsItsOwnCache) {
    const TraceFile file;
    RunConfig config = comparing({"ecokv:budget=48"});
    config.trace = file.path();
    const RunResult result = run(config);
    const ComparedPolicy& kept = result.compared[1];
    ASSERT_FALSE(kept.divergence);
    const trace::TraceReader reader(file.path());
    const auto model = reader.dimensions();
    const std::int64_t heads = model.layers * model.kvHeads;
    const std::int64_t steps = std::ssize(result.fullAnswer.tokenIds);
    ASSERT_GT(steps, 1);
    for (const auto& [id, prompt] : {std::pair{result.compared[0].traceId, model.tokens},
                                     std::pair{kept.traceId, std::int64_t{48}}}) {
        SCOPED_TRACE(prompt);
        std::vector<std::int32_t> lengths; // each step counts its own token
        for (std::int64_t step = 0; step < steps; ++step) {
            lengths.insert(lengths.end(), static_cast<std::size_t>(heads),
                           static_cast<std::int32_t>(prompt + step + 1));
        }
        const auto decode = reader.policyDecode(id);
        ASSERT_TRUE(decode);
        EXPECT_EQ(decode->keptLength, lengths);
        // keys and values of f32, with the room that was reserved for the answer
        EXPECT_EQ(std::get<std::int64_t>(decode->attributes.at("peak_bytes")),
                  2 * heads * model.headDim * (prompt + config.maxNewTokens) * 4);
    }
}

// F031: one impossible row does not cost the others.
TEST(Comparison, aRefusedBudgetIsARowAndNotAnError) {
    const RunResult result =
        run(comparing({"ecokv:budget=24,recent=30", "ecokv:budget=24", "random:budget=24"}));
    ASSERT_EQ(result.compared.size(), 4U);
    EXPECT_NE(result.compared[1].refused.find("30 recent"), std::string::npos);
    EXPECT_TRUE(result.compared[1].kl.empty());
    EXPECT_TRUE(result.compared[2].refused.empty());
    EXPECT_TRUE(result.compared[2].meanKl);
}

TEST(Comparison, anAnswerOfOneTokenLeavesTheMeansEmpty) {
    RunConfig config = comparing({"ecokv:budget=24", "random:budget=24"});
    config.maxNewTokens = 1;
    const RunResult result = run(config);
    for (const ComparedPolicy& row : result.compared) {
        EXPECT_FALSE(row.meanKl);
        EXPECT_FALSE(row.measuredError);
        EXPECT_TRUE(row.predictedError);
        EXPECT_EQ(row.answer.tokenIds.size(), 1U);
    }
}

TEST(Comparison, samplingIsRefusedBeforeAnythingRuns) {
    RunConfig config = comparing({"ecokv:budget=24"});
    config.temperature = 0.5;
    try {
        run(config);
        FAIL() << "compared sampled answers";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Usage);
        EXPECT_NE(error.message().find("greedy"), std::string::npos);
    }
}

} // namespace ecokv::session
