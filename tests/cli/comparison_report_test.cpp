// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/comparison_report.h"
#include "cli/text_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace ecokv::cli {

namespace {

session::ComparedPolicy row(const std::string& policy, std::int64_t budget, double kl) {
    session::ComparedPolicy row;
    row.policy = policy;
    row.allocator = "uniform";
    row.budget = budget;
    row.ledger.keptTokens = {{budget}};
    row.ledger.keptBytes = static_cast<std::uint64_t>(budget) * 100;
    row.kl = {0.0F, static_cast<float>(kl)};
    row.top1Agree = {1, 1};
    row.forcedLogprob = {-0.1F, -0.2F};
    row.meanKl = kl;
    row.top1Agreement = 1.0;
    row.perplexityRatio = 1 + kl;
    row.predictedError = kl / 2;
    row.measuredError = kl / 4;
    row.compressed = true;
    row.answer.text = "32";
    row.answer.tokenIds = {51, 50};
    row.seconds = 0.5;
    row.tokensPerSecond = 2;
    return row;
}

session::RunResult example() {
    session::RunResult result;
    result.fullAnswer.tokenIds = {51, 50};
    result.ledger.fullBytes = 26900;
    auto full = row("full", 269, 0);
    full.allocator = "";
    full.compressed = false;
    full.note = "not compressed: policy full keeps everything";
    auto bad = row("random", 16, 2.5);
    bad.answer.text = "4,\"\n";
    bad.divergence = session::Divergence{1, "2", ""};
    session::ComparedPolicy refused;
    refused.policy = "snapkv:recent=20,window=8";
    refused.allocator = "uniform";
    refused.budget = 16;
    refused.refused = "The budget of 16 tokens is smaller than 20.";
    result.compared = {full, row("ecokv", 16, 0.125), bad, row("ecokv", 32, 0.5), refused};
    return result;
}

std::vector<std::string> linesOf(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

} // namespace

TEST(ComparisonReport, tableMarksTheBestOfABudgetWithRivals) {
    const auto lines = linesOf(comparisonTable(example()));
    ASSERT_GE(lines.size(), 7U);
    EXPECT_NE(lines[2].find("full"), std::string::npos);
    EXPECT_EQ(lines[2].find('*'), std::string::npos); // the measure itself does not compete
    EXPECT_NE(lines[3].find("0.1250*"), std::string::npos) << lines[3];
    EXPECT_NE(lines[4].find("2.5000 "), std::string::npos) << lines[4];
    EXPECT_EQ(lines[5].find('*'), std::string::npos) << lines[5]; // alone at its budget
    EXPECT_NE(lines[4].find("1: (end) for \"2\""), std::string::npos) << lines[4];
    EXPECT_NE(lines[4].find("\"4,\\\"\\n\""), std::string::npos) << lines[4];
}

TEST(ComparisonReport, tableExplainsARefusedRow) {
    const std::string table = comparisonTable(example());
    EXPECT_NE(table.find("refused"), std::string::npos);
    EXPECT_NE(table.find("snapkv:recent=20,window=8 at 16: The budget of 16"), std::string::npos);
}

TEST(ComparisonReport, jsonHoldsTheDocumentedFields) {
    const auto json = comparisonJson(example());
    ASSERT_EQ(json.size(), 5U);
    EXPECT_EQ(json[1]["policy"], "ecokv");
    EXPECT_EQ(json[1]["budget"], 16);
    EXPECT_EQ(json[1]["mean_kl"], 0.125);
    EXPECT_EQ(json[1]["perplexity_ratio"], 1.125);
    EXPECT_EQ(json[1]["predicted_output_error"], 0.0625);
    EXPECT_EQ(json[1]["measured_output_error"], 0.03125);
    EXPECT_EQ(json[1]["kept_bytes"], 1600);
    EXPECT_TRUE(json[1]["first_divergence"].is_null());
    EXPECT_EQ(json[2]["first_divergence"]["step"], 1);
    EXPECT_EQ(json[2]["first_divergence"]["full"], "2");
    EXPECT_EQ(json[0]["compressed"], false);
    EXPECT_EQ(json[4]["refused"], "The budget of 16 tokens is smaller than 20.");
    EXPECT_FALSE(json[4].contains("mean_kl"));
}

TEST(ComparisonReport, csvQuotesWhatHoldsCommasAndLeavesUnknownCellsEmpty) {
    const std::string csv = comparisonCsv(example());
    const auto lines = linesOf(csv);
    EXPECT_EQ(lines[0].substr(0, 31), "policy,allocator,budget,refused");
    EXPECT_EQ(lines[2],
              "ecokv,uniform,16,,1600,26900,2,0.125,1,1.125,0.0625,0.03125,-1,,,0.5,2,32");
    EXPECT_NE(csv.find("1,2,,0.5,2,\"4,\"\"\n\"\n"), std::string::npos) << csv;
    EXPECT_NE(csv.find("\"snapkv:recent=20,window=8\",uniform,16,The budget of 16 tokens is "
                       "smaller than 20.,,26900,,,,,,,,,,,,\n"),
              std::string::npos)
        << csv;
}

TEST(TextTable, alignsByCharactersAndLeavesNoTrailingSpaces) {
    TextTable table(1);
    table.addRow({"a", "1", "x"});
    table.addRow({"äö", "200", ""});
    EXPECT_EQ(table.text(), "a     1  x\näö  200\n");
}

TEST(TextTable, numbersHaveSoManyDecimalsAndUnknownOnesADash) {
    EXPECT_EQ(numberCell(2.0 / 3), "0.667");
    EXPECT_EQ(numberCell(12.34, 1), "12.3");
    EXPECT_EQ(numberCell(std::nan("")), "-");
}

TEST(TextTable, quotedTextStaysOnOneLineAndIsCut) {
    EXPECT_EQ(quoted("a\tb\"", 9), "\"a\\x09b\\\"\"");
    EXPECT_EQ(quoted("äöü", 2), "\"äö…\"");
}

} // namespace ecokv::cli
