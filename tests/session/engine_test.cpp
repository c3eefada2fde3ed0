// SPDX-License-Identifier: GPL-3.0-or-later
// The engine as the programs load it, on the demo model.
#include "session/engine.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace ecokv::session {

namespace {

const std::filesystem::path kResources = std::filesystem::path(ECOKV_SOURCE_DIR) / "resources";

/// Remembers what a run told; `onProgress` may interfere.
class RecordingListener : public RunListener {
public:
    void progress(const Progress& progress) override {
        stages.push_back(progress.stage);
        if (onProgress) {
            onProgress(progress);
        }
    }
    void text(Stream stream, const std::string& piece) override {
        (stream == Stream::Full ? full : policy) += piece;
    }
    void note(const std::string& sentence) override { notes.push_back(sentence); }
    void ledger(const Ledger& ledger) override { ledgers.push_back(ledger); }

    std::vector<std::string> stages, notes;
    std::vector<Ledger> ledgers;
    std::string policy, full;
    std::function<void(const Progress&)> onProgress;
};

RunConfig demoRun(const char* document, const char* question, std::int64_t budget) {
    RunConfig config;
    config.model = kResources / "demo-model";
    config.images = {kResources / "demo-documents" / document};
    config.prompt = question;
    config.policy.budget = budget;
    config.maxNewTokens = 8;
    config.device = DeviceChoice::Cpu;
    return config;
}

RunResult run(Engine& engine, const RunConfig& config) {
    RecordingListener listener;
    return engine.run(config, listener, {});
}

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "ecokv-XXXXXX").string();
        m_path = mkdtemp(name.data());
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(m_path, ignored);
    }
    const std::filesystem::path& path() const { return m_path; }

private:
    std::filesystem::path m_path;
};

} // namespace

// F009: nothing of one run is left for the next.
TEST(Engine, aRunAfterAnotherEqualsTheSameRunInAFreshEngine) {
    const RunConfig first = demoRun("one-line.png", "circles?", 24);
    const RunConfig second = demoRun("nine-lines.png", "squares?", 40);
    const auto engine = loadEngine();
    run(*engine, first);
    const RunResult after = run(*engine, second);
    const RunResult fresh = run(*loadEngine(), second);
    EXPECT_EQ(after.answer.tokenIds, fresh.answer.tokenIds);
    EXPECT_EQ(after.answer.logprob, fresh.answer.logprob);
    EXPECT_EQ(after.ledger.keptTokens, fresh.ledger.keptTokens);
}

// F009 with its numbers: 40 tokens, then 200. The second prompt is compressed as if it were alone.
TEST(Engine, theSecondPromptOfASessionIsCompressedToo) {
    const auto promptOf = [](std::size_t tokens) {
        RunConfig config = demoRun("one-line.png", "", 24);
        config.images.clear();
        config.applyTemplate = false;
        config.prompt = "<s>" + std::string(tokens - 1, 'x'); // bytes are tokens
        for (std::size_t i = 4; i < config.prompt.size(); i += 7) {
            config.prompt[i] = static_cast<char>('a' + i % 26);
        }
        return config;
    };
    const auto engine = loadEngine();
    const RunResult first = run(*engine, promptOf(40));
    const RunResult after = run(*engine, promptOf(200));
    const RunResult alone = run(*loadEngine(), promptOf(200));
    EXPECT_EQ(first.promptTokens, 40);
    EXPECT_EQ(after.promptTokens, 200);
    EXPECT_TRUE(after.compressed);
    EXPECT_EQ(after.ledger.keptTokens, std::vector(6, std::vector<std::int64_t>(4, 24)));
    EXPECT_EQ(after.ledger.keptTokens, alone.ledger.keptTokens);
    EXPECT_EQ(after.answer.logprob, alone.answer.logprob);
}

/// F035: prompts are never batched, so a longer neighbour cannot pad into a prompt. What is left to
/// check is that it leaves nothing behind in the engine, kept tokens and probabilities included.
TEST(Engine, aPromptAfterALongerOneEqualsThePromptAlone) {
    RunConfig longer = demoRun("nine-lines-dense.png", "squares?", 40);
    longer.images.push_back(longer.images.front());
    const RunConfig prompt = demoRun("one-line.png", "circles?", 24);
    const RunResult alone = run(*loadEngine(), prompt);
    const auto engine = loadEngine();
    const RunResult neighbour = run(*engine, longer);
    const RunResult beside = run(*engine, prompt);
    EXPECT_GT(neighbour.promptTokens, alone.promptTokens);
    EXPECT_EQ(beside.promptTokens, alone.promptTokens);
    EXPECT_EQ(beside.answer.tokenIds, alone.answer.tokenIds);
    EXPECT_EQ(beside.answer.logprob, alone.answer.logprob);
    EXPECT_EQ(beside.ledger.keptTokens, alone.ledger.keptTokens);
    EXPECT_EQ(beside.ledger.keptBytes, alone.ledger.keptBytes);
}

// F009: nor of one question for the next, nor of a run with questions for one without.
TEST(Engine, questionsLeaveNothingBehind) {
    RunConfig many = demoRun("nine-lines.png", "", 40);
    many.asks = {"squares?", "a longer question about this page?", "squares?"};
    many.decodeBudget = 36;
    many.decodeEvery = 2;
    const auto engine = loadEngine();
    const RunResult first = run(*engine, many);
    ASSERT_EQ(first.questions.size(), 3U);
    EXPECT_EQ(first.questions[2].answer.logprob, first.questions[0].answer.logprob);
    EXPECT_EQ(first.questions[2].answer.cache.keptLength,
              first.questions[0].answer.cache.keptLength);
    EXPECT_TRUE(first.answer.tokenIds.empty());

    const RunConfig plain = demoRun("nine-lines.png", "squares?", 40);
    const RunResult after = run(*engine, plain);
    const RunResult fresh = run(*loadEngine(), plain);
    EXPECT_EQ(after.answer.logprob, fresh.answer.logprob);
    const RunResult again = run(*engine, many);
    EXPECT_EQ(again.questions[1].answer.logprob, first.questions[1].answer.logprob);
}

TEST(Engine, streamsTheTextItReturnsAndTellsTheLedgerOnce) {
    RunConfig config = demoRun("seven-lines.png", "triangles?", 48);
    config.compareFull = true;
    RecordingListener listener;
    const RunResult result = loadEngine()->run(config, listener, {});
    EXPECT_EQ(listener.policy, result.answer.text);
    EXPECT_EQ(listener.full, result.fullAnswer.text);
    ASSERT_EQ(listener.ledgers.size(), 1U);
    EXPECT_EQ(listener.ledgers[0].keptTokens, result.ledger.keptTokens);
    EXPECT_EQ(listener.notes, result.notes);
    EXPECT_NE(std::find(listener.stages.begin(), listener.stages.end(), "Prefill"),
              listener.stages.end());
}

// F124: what was recorded before the stop stays under the .part name.
TEST(Engine, stopsWithin100MillisecondsAndKeepsTheRecording) {
    const TemporaryFolder folder;
    RunConfig config = demoRun("seven-lines.png", "triangles?", 48);
    config.trace = folder.path() / "cut.ecokv.h5";
    config.maxNewTokens = 1500;
    config.temperature = 50; // rambles on
    CancellationSource stop;
    RecordingListener listener;
    std::chrono::steady_clock::time_point stopped;
    listener.onProgress = [&](const Progress& progress) {
        if (progress.stage == "Answering" && progress.done == 2) {
            stopped = std::chrono::steady_clock::now();
            stop.cancel();
        }
    };
    try {
        loadEngine()->run(config, listener, stop.token());
        FAIL() << "ran to its end";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
    }
    const auto waited = std::chrono::steady_clock::now() - stopped;
    EXPECT_LT(std::chrono::duration<double>(waited).count(), 0.1);
    EXPECT_FALSE(std::filesystem::exists(config.trace));
    EXPECT_TRUE(std::filesystem::exists(config.trace.string() + ".part"));
}

// F157: a model or picture that cannot be used is a sentence, and the engine goes on.
TEST(Engine, goesOnAfterBadInput) {
    const auto engine = loadEngine();
    RunConfig noModel = demoRun("seven-lines.png", "triangles?", 48);
    noModel.model = kResources; // a folder, but no model
    RunConfig noPicture = demoRun("documents.json", "triangles?", 48);
    for (const RunConfig& config : {noModel, noPicture}) {
        try {
            run(*engine, config);
            FAIL() << "accepted " << config.model << " with " << config.images[0];
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::BadInput) << error.what();
        }
    }
    const RunResult result = run(*engine, demoRun("seven-lines.png", "triangles?", 48));
    EXPECT_FALSE(result.answer.text.empty());
}

// F164: a load of threads beyond the cores is not started.
TEST(Engine, usesNoMoreThreadsThanCoresAndSaysSo) {
    RunConfig config = demoRun("one-line.png", "circles?", 24);
    config.threads = 100000;
    RecordingListener listener;
    const RunResult result = loadEngine()->run(config, listener, {});
    EXPECT_EQ(result.threads, static_cast<int>(std::thread::hardware_concurrency()));
    ASSERT_FALSE(listener.notes.empty());
    EXPECT_NE(listener.notes.front().find("100000 threads"), std::string::npos);
    EXPECT_EQ(listener.notes, result.notes);
}

TEST(Engine, refusesImpossibleSettingsBeforeAnyWeightIsRead) {
    const auto refused = [](const std::function<void(RunConfig&)>& change) {
        RunConfig config = demoRun("seven-lines.png", "triangles?", 48);
        change(config);
        RecordingListener listener;
        try {
            loadEngine()->run(config, listener, {});
        } catch (const Error& error) {
            EXPECT_TRUE(listener.stages.empty()) << listener.stages.front();
            return error.kind() == ErrorKind::Usage;
        }
        return false;
    };
    EXPECT_TRUE(refused([](RunConfig& c) { c.maxNewTokens = 0; }));
    EXPECT_TRUE(refused([](RunConfig& c) { c.temperature = -1; }));
    EXPECT_TRUE(refused([](RunConfig& c) { c.topP = 0; }));
    EXPECT_TRUE(refused([](RunConfig& c) { c.threads = -1; }));
    EXPECT_TRUE(refused([](RunConfig& c) { c.policy.budget = -5; }));
    EXPECT_TRUE(refused([](RunConfig& c) { c.model.clear(); }));
    EXPECT_TRUE(refused([](RunConfig& c) { c.temperature = std::nan(""); }));
    EXPECT_TRUE(refused([](RunConfig& c) { c.policy.pool = 4; })); // F029
    EXPECT_TRUE(refused([](RunConfig& c) {                         // F031
        c.policy.sink = 40;
        c.policy.recent = 20;
    }));
}

TEST(Engine, aMissingEngineLibraryIsExplained) {
    try {
        loadEngine("/no/such/engine.so");
        FAIL() << "loaded a library that is not there";
    } catch (const Error& error) {
        EXPECT_NE(error.message().find("/no/such/engine.so"), std::string::npos);
        EXPECT_NE(error.advice().find("./run"), std::string::npos);
    }
}

} // namespace ecokv::session
