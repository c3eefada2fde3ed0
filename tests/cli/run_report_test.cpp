// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/exit_code.h"
#include "cli/run_report.h"
#include "cli/terminal_progress.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ecokv::cli {

namespace {

session::RunResult exampleResult() {
    session::RunResult result;
    result.answer.text = "1\"2";
    result.answer.tokenIds = {49, 34, 50};
    result.promptTokens = 269;
    result.imageTokens = 256;
    result.policy = "ecokv";
    result.budget = 48;
    result.compressed = true;
    result.ledger.keptTokens = {{48, 48}, {48, 48}};
    result.ledger.promptTokens = 269;
    result.ledger.protectedTokens = 12;
    result.ledger.keptBytes = 4800;
    result.ledger.fullBytes = 26900;
    return result;
}

} // namespace

TEST(RunReport, jsonHoldsTheDocumentedFields) {
    const auto json = nlohmann::json::parse(runResultJson(exampleResult()));
    EXPECT_EQ(json["answer"], "1\"2");
    EXPECT_EQ(json["token_ids"], (std::vector<int>{49, 34, 50}));
    EXPECT_EQ(json["prompt_tokens"], 269);
    EXPECT_EQ(json["image_tokens"], 256);
    EXPECT_EQ(json["policy"], "ecokv");
    EXPECT_EQ(json["budget"], 48);
    EXPECT_EQ(json["ledger"]["kept_tokens"][1][0], 48);
    EXPECT_EQ(json["ledger"]["kept_bytes"], 4800);
    EXPECT_EQ(json["ledger"]["full_bytes"], 26900);
    EXPECT_TRUE(json["timings"].contains("prefill_seconds"));
    EXPECT_TRUE(json["trace"].is_null());
    EXPECT_FALSE(json.contains("full_answer")); // only when it was asked for
}

TEST(RunReport, invalidUtf8InAnAnswerIsReplacedNotThrown) {
    auto result = exampleResult();
    result.answer.text = "ok\xFF";
    const auto json = nlohmann::json::parse(runResultJson(result));
    EXPECT_EQ(json["answer"], "ok\xEF\xBF\xBD");
}

TEST(RunReport, ledgerShowsTokensBytesAndTheSaving) {
    const std::string text = ledgerText(exampleResult().ledger);
    EXPECT_NE(text.find("4 heads"), std::string::npos) << text;
    EXPECT_NE(text.find("48.0"), std::string::npos) << text;
    EXPECT_NE(text.find("1.2 KB"), std::string::npos) << text;  // 4800 bytes over 4 heads
    EXPECT_NE(text.find("82.2 %"), std::string::npos) << text;  // 1 - 4800 / 26900
    EXPECT_NE(text.find("22.1 KB"), std::string::npos) << text; // 26900 - 4800
    EXPECT_EQ(text.find("heads keep"), std::string::npos) << text;
}

TEST(RunReport, ledgerNamesNothingProtectedWhereNothingIsEvicted) {
    auto ledger = exampleResult().ledger;
    EXPECT_NE(ledgerText(ledger).find("of these protected"), std::string::npos);
    ledger.keptBytes = ledger.fullBytes;
    EXPECT_EQ(ledgerText(ledger).find("protected"), std::string::npos) << ledgerText(ledger);
}

TEST(RunReport, ledgerSaysWhenHeadsKeepDifferentNumbers) {
    auto ledger = exampleResult().ledger;
    ledger.keptTokens = {{40, 56}, {48, 48}};
    EXPECT_NE(ledgerText(ledger).find("heads keep 40 to 56 tokens"), std::string::npos);
}

/// F034: layer 1 of the example slides; its 2 heads of 150 tokens are not in the mean.
TEST(RunReport, ledgerLeavesSlidingLayersOutAndNamesThem) {
    auto ledger = exampleResult().ledger;
    ledger.keptTokens = {{48, 48}, {150, 150}};
    ledger.slidingWindows = {0, 64};
    ledger.layerBytes = {2400, 7500};
    const std::string text = ledgerText(ledger);
    EXPECT_NE(text.find("2 heads"), std::string::npos) << text;
    EXPECT_NE(text.find("48.0"), std::string::npos) << text;
    EXPECT_NE(text.find("1 layer(s) slide and are not evicted: 7.5 KB"), std::string::npos) << text;
}

TEST(RunReport, ledgerLeavesLayersWithoutACacheOutAndCountsThem) {
    auto ledger = exampleResult().ledger;
    ledger.keptTokens = {{48, 48}, {0, 0}};
    ledger.linearLayers = {0, 1};
    const std::string text = ledgerText(ledger);
    EXPECT_NE(text.find("48.0"), std::string::npos) << text;
    EXPECT_EQ(text.find("heads keep"), std::string::npos) << text;
    EXPECT_NE(text.find("1 layer(s) have no KV cache (linear attention)"), std::string::npos)
        << text;
}

namespace {

/// 2 layers x 2 heads; head [layer, kvHead] holds `first` + step + kvHead tokens; 100 bytes a step.
session::CacheHistory growing(std::int32_t first, std::int32_t steps) {
    session::CacheHistory history;
    history.layers = history.kvHeads = 2;
    for (std::int32_t step = 0; step < steps; ++step) {
        for (const std::int32_t head : {0, 1, 0, 1}) {
            history.keptLength.push_back(first + step + head);
        }
        history.bytes.push_back(100ULL * static_cast<unsigned>(step + 1));
    }
    return history;
}

} // namespace

// F030: mean and longest head at every step, and what held the cache.
TEST(RunReport, jsonShowsTheCacheWhileItAnswered) {
    auto result = exampleResult();
    result.decodeEviction = "prefill-only";
    result.answer.cache = growing(17, 20);
    const auto json = nlohmann::json::parse(runResultJson(result));
    EXPECT_EQ(json["decode_eviction"], "prefill-only");
    EXPECT_EQ(json["cache"]["tokens_per_head"][0], 17.5);
    EXPECT_EQ(json["cache"]["tokens_per_head"][19], 36.5);
    EXPECT_EQ(json["cache"]["longest_head"][19], 37);
    EXPECT_EQ(json["cache"]["bytes"][19], 2000);
    EXPECT_EQ(json["cache"]["evicted_keys"], 0);
}

/// F034: layer 1 slides and holds 1000 tokens more; neither mean nor longest head know of it.
TEST(RunReport, theCacheWhileItAnsweredLeavesSlidingLayersOut) {
    auto result = exampleResult();
    result.decodeEviction = "prefill-only";
    result.answer.cache = growing(17, 20);
    for (std::size_t at = 0; at < result.answer.cache.keptLength.size(); ++at) {
        result.answer.cache.keptLength[at] += at % 4 < 2 ? 0 : 1000;
    }
    result.ledger.slidingWindows = {0, 64};
    const auto json = nlohmann::json::parse(runResultJson(result));
    EXPECT_EQ(json["cache"]["tokens_per_head"][0], 17.5);
    EXPECT_EQ(json["cache"]["longest_head"][19], 37);
    const std::string text = generationText(result);
    EXPECT_NE(text.find("36.5 tokens/head at the end, at most 37 in one head; 2.0 KB at the most "
                        "with the 1 layer(s) that slide"),
              std::string::npos)
        << text;
}

TEST(RunReport, jsonListsQuestionsInPlaceOfOneAnswer) {
    auto result = exampleResult();
    result.answer = {};
    result.hasFullAnswer = true;
    for (const char* words : {"first?", "second?"}) {
        session::QuestionResult question;
        question.question = words;
        question.questionIds = {7, 8};
        question.answer.text = std::string("to ") + words;
        question.answer.tokenIds = {1};
        question.answer.cache = growing(48, 1);
        question.fullAnswer.text = "full";
        result.questions.push_back(question);
    }
    const auto json = nlohmann::json::parse(runResultJson(result));
    EXPECT_FALSE(json.contains("answer"));
    ASSERT_EQ(json["questions"].size(), 2U);
    EXPECT_EQ(json["questions"][1]["question"], "second?");
    EXPECT_EQ(json["questions"][1]["answer"], "to second?");
    EXPECT_EQ(json["questions"][1]["question_ids"], (std::vector<int>{7, 8}));
    EXPECT_EQ(json["questions"][1]["full_answer"], "full");
    EXPECT_EQ(json["questions"][1]["cache"]["longest_head"][0], 49);
    EXPECT_EQ(json["budget"], 48);
}

TEST(RunReport, theTextSaysWhetherTheCacheGrewOrStayed) {
    auto result = exampleResult();
    EXPECT_EQ(generationText(result), ""); // nothing was answered
    result.decodeEviction = "prefill-only";
    result.answer.cache = growing(17, 20);
    const std::string grew = generationText(result);
    EXPECT_NE(grew.find("prefill-only eviction, so the cache grows"), std::string::npos) << grew;
    EXPECT_NE(grew.find("36.5 tokens/head at the end, at most 37"), std::string::npos) << grew;
    EXPECT_NE(grew.find("2.0 KB"), std::string::npos) << grew;
    result.decodeEviction = "every 4 tokens to 16";
    result.answer.cache.evictions.resize(12);
    const std::string stayed = generationText(result);
    EXPECT_NE(stayed.find("evicted every 4 tokens to 16 per head, 12 keys left"), std::string::npos)
        << stayed;
}

TEST(RunReport, byteTextUsesDecimalUnits) {
    EXPECT_EQ(byteText(0), "0 B");
    EXPECT_EQ(byteText(999), "999 B");
    EXPECT_EQ(byteText(1000), "1.0 KB");
    EXPECT_EQ(byteText(8'192'000), "8.2 MB");
}

TEST(TerminalProgress, lineShowsStagePercentCountsAndEta) {
    const std::string line = TerminalProgress::line({"Prefill", 3, 12, "layers"}, 2.0, 79);
    EXPECT_NE(line.find("Prefill"), std::string::npos) << line;
    EXPECT_NE(line.find("25 %"), std::string::npos) << line;
    EXPECT_NE(line.find("3/12 layers"), std::string::npos) << line;
    EXPECT_NE(line.find("ETA 0:06"), std::string::npos) << line; // 2 s for a quarter
}

TEST(TerminalProgress, neverWrapsATerminalLine) {
    const Progress progress{std::string(200, 'x'), 1, 2, "bytes"};
    EXPECT_LE(TerminalProgress::line(progress, 1.0, 79).size(), 79U);
}

TEST(ExitCode, followsTheKindOfError) {
    EXPECT_EQ(exitCodeOf(ErrorKind::Usage), ExitCode::Usage);
    EXPECT_EQ(exitCodeOf(ErrorKind::BadInput), ExitCode::BadInput);
    EXPECT_EQ(exitCodeOf(ErrorKind::Cancelled), ExitCode::Cancelled);
    EXPECT_EQ(exitCodeOf(ErrorKind::Internal), ExitCode::Bug);
    EXPECT_EQ(static_cast<int>(ExitCode::Cancelled), 4);
}

} // namespace ecokv::cli
