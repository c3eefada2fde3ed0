// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/run_summary.h"

#include "ui/models/formatting.h"

#include "sample_document.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ecokv::ui {

namespace {

session::Ledger twoLayerLedger() {
    session::Ledger ledger;
    ledger.keptTokens = {{4, 8}, {6, 6}};
    ledger.promptTokens = 24;
    ledger.protectedTokens = 3;
    ledger.keptBytes = 250;
    ledger.fullBytes = 1000;
    return ledger;
}

QString fact(const RunSummary& summary, const QString& label) {
    for (const auto& [name, value] : summary.facts) {
        if (name == label) {
            return value;
        }
    }
    return {};
}

} // namespace

TEST(RunSummary, ledgerFiguresAreMeansOverHeads) {
    const LedgerFigures figures = ledgerFigures(twoLayerLedger());
    EXPECT_DOUBLE_EQ(figures.meanKept, 6.0); // (4 + 8 + 6 + 6) / 4
    EXPECT_EQ(figures.fewest, 4);
    EXPECT_EQ(figures.most, 8);
    EXPECT_DOUBLE_EQ(figures.keptShare, 0.25);
    EXPECT_DOUBLE_EQ(figures.savedShare, 0.75);
}

TEST(RunSummary, slidingLayersAreNoPartOfTheFigures) { // field case F034
    session::Ledger ledger = twoLayerLedger();
    ledger.slidingWindows = {0, 64};
    const LedgerFigures figures = ledgerFigures(ledger);
    EXPECT_DOUBLE_EQ(figures.meanKept, 6.0); // (4 + 8) / 2
    EXPECT_EQ(figures.most, 8);
    ledger.slidingWindows = {64, 0};
    EXPECT_EQ(ledgerFigures(ledger).fewest, 6);
}

TEST(RunSummary, saysWhatHeldWhileAnsweringF030) {
    analysis::CacheLengths lengths;
    lengths.mean = {16, 26, 36};
    lengths.longest = {20, 30, 40};
    EXPECT_EQ(decodingLine("prefill-only", lengths),
              u"While answering: prefill-only eviction, 16 → 36 tokens per head"_qs);
    EXPECT_EQ(decodingLine("every 16 tokens to 64", {}),
              u"While answering: bounded, at most 64 + 16 − 1 = 79 tokens per head on average"_qs);
    EXPECT_EQ(decodingLine("", lengths), u"While answering: 16 → 36 tokens per head"_qs);
    EXPECT_EQ(decodingLine("", {}), QString());
}

TEST(RunSummary, runAndTraceSayTheSameOfTheAnswerF030) {
    session::RunResult result;
    result.decodeEviction = "prefill-only";
    result.answer.cache = {2, 1, {4, 8, 5, 9}, {0, 0}, {}};
    const auto expected = u"While answering: prefill-only eviction, 6 → 7 tokens per head"_qs;
    EXPECT_EQ(summariseRun(result).decoding, expected);
    analysis::TraceDocument document;
    document.dimensions.layers = 2;
    document.dimensions.kvHeads = 1;
    document.run.emplace();
    document.run->attributes["decode_eviction"] = std::string("prefill-only");
    analysis::PolicyView policy;
    policy.decode.emplace();
    policy.decode->keptLength = {4, 8, 5, 9};
    EXPECT_EQ(summariseTrace(document, &policy).decoding, expected);
}

TEST(RunSummary, unknownBytesAreNotCalledSaved) {
    session::Ledger ledger = twoLayerLedger();
    ledger.fullBytes = 0;
    EXPECT_TRUE(std::isnan(ledgerFigures(ledger).savedShare));
    EXPECT_TRUE(std::isnan(ledgerFigures({}).meanKept));
}

TEST(RunSummary, runResultBecomesTextWithUnits) {
    session::RunResult result;
    result.policy = "ecokv";
    result.budget = 48;
    result.answer.text = "473";
    result.device = "cpu";
    result.timings.prefillSeconds = 0.25;
    result.timings.decodeTokensPerSecond = 80;
    result.notes = {"not compressed"};
    const RunSummary summary = summariseRun(result);
    EXPECT_EQ(summary.policyTitle, u"ecokv, budget 48"_qs);
    EXPECT_EQ(summary.policyAnswer.value_or(QString()), u"473"_qs);
    EXPECT_FALSE(summary.fullAnswer.has_value()); // not asked for
    EXPECT_EQ(fact(summary, u"Prefill"_qs), u"0.25 s"_qs);
    EXPECT_EQ(fact(summary, u"Decoding speed"_qs), u"80 tokens/s"_qs);
    EXPECT_EQ(fact(summary, u"Loading"_qs), QString()); // 0 s: the model was there already
    EXPECT_EQ(summary.notes, QStringList{u"not compressed"_qs});
}

TEST(RunSummary, traceGivesAnswersAndLedger) {
    const auto document = test::sampleDocument();
    const RunSummary summary = summariseTrace(*document, &document->policies.front());
    EXPECT_EQ(summary.promptTokens, 30);
    EXPECT_EQ(summary.imageTokens, 12); // a grid of 4 x 3 patches
    EXPECT_TRUE(summary.policyAnswer.has_value());
    EXPECT_TRUE(summary.fullAnswer.has_value());
    ASSERT_EQ(summary.ledger.keptTokens.size(), 4U);
    ASSERT_EQ(summary.ledger.keptTokens[0].size(), 2U);
    // Policy "0" keeps (token + layer + kvHead) % 3 == 0 and the last 4 of 30 tokens:
    // for layer 0, head 0 that is 0, 3, ..., 27 (10 tokens) and 26, 28, 29.
    EXPECT_EQ(summary.ledger.keptTokens[0][0], 13);
}

TEST(RunSummary, aComparedPolicyShowsItsDistanceToTheFullCache) {
    const auto document = test::sampleDocument();
    analysis::PolicyView policy = document->policies.front();
    EXPECT_EQ(fact(summariseTrace(*document, &policy), u"Mean KL to the full cache"_qs), QString());
    policy.record.attributes["mean_kl"] = 0.25;
    policy.record.attributes["top1_agreement"] = 0.5;
    policy.record.attributes["measured_output_error"] = 0.125;
    const RunSummary summary = summariseTrace(*document, &policy);
    EXPECT_EQ(fact(summary, u"Mean KL to the full cache"_qs), u"0.25 nats"_qs);
    EXPECT_EQ(fact(summary, u"Top-1 agreement"_qs), u"50 %"_qs);
    EXPECT_EQ(fact(summary, u"Output error, measured"_qs), formatShare(0.125));
    EXPECT_EQ(fact(summary, u"Output error, predicted"_qs), QString()); // not recorded
}

TEST(RunSummary, traceWithoutPolicyHasNoLedger) {
    const RunSummary summary = summariseTrace(*test::sampleDocument(), nullptr);
    EXPECT_TRUE(summary.ledger.keptTokens.empty());
    EXPECT_FALSE(summary.policyAnswer.has_value());
}

TEST(RunSummary, attributesOfEveryTypeBecomeText) {
    const trace::Attributes attributes = {
        {"a", std::string("x")}, {"b", std::int64_t{7}}, {"c", 0.5}};
    EXPECT_EQ(attributeText(attributes, "a"), u"x"_qs);
    EXPECT_EQ(attributeText(attributes, "b"), u"7"_qs);
    EXPECT_EQ(attributeText(attributes, "c"), u"0.5"_qs);
    EXPECT_EQ(attributeText(attributes, "d"), QString());
}

} // namespace ecokv::ui
