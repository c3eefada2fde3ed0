// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/sweep.h"
#include "base/error.h"
#include "support/sample_trace.h"
#include "support/synthetic_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace ecokv::analysis {

namespace {

struct Opened {
    test::TemporaryFolder folder;
    std::unique_ptr<Replayer> replayer;
};

/// A replayer of the synthetic trace: 3 layers, 2 KV heads, 90 tokens, 40 window rows, bf16.
std::unique_ptr<Opened> open(const test::SyntheticOptions& options = {}) {
    auto opened = std::make_unique<Opened>();
    opened->replayer = std::make_unique<Replayer>(std::make_shared<trace::TraceReader>(
        writeSyntheticTrace(opened->folder / "a.ecokv.h5", options)));
    return opened;
}

std::vector<policy::PolicyConfig> grid(const std::string& policies,
                                       std::vector<std::int64_t> budgets) {
    return policy::expandPolicies({{policies}, std::move(budgets), {}});
}

double meanOf(const std::vector<float>& values) {
    double sum = 0;
    for (const float value : values) {
        sum += static_cast<double>(value);
    }
    return sum / static_cast<double>(values.size());
}

} // namespace

TEST(Sweep, rowsHoldTheMeansOfSingleReplays) {
    const auto opened = open();
    const auto rows =
        sweep(*opened->replayer, {grid("ecokv,snapkv:window=8,random,full", {20, 40})});
    ASSERT_EQ(rows.size(), 7U);
    for (const SweepRow& row : rows) {
        const ReplayResult single =
            opened->replayer->replay({.policy = row.config, .outputError = true, .measureRows = 8});
        EXPECT_EQ(row.refused, "");
        EXPECT_EQ(row.rows, 8);
        EXPECT_NEAR(row.retainedMass, meanOf(single.retainedMass), 1e-6);
        EXPECT_NEAR(row.outputError, meanOf(single.outputError), 1e-6);
        EXPECT_FLOAT_EQ(static_cast<float>(row.worstError),
                        *std::max_element(single.outputError.begin(), single.outputError.end()));
    }
    EXPECT_DOUBLE_EQ(rows[0].keptPerHead, 20);
    EXPECT_DOUBLE_EQ(rows[0].keptBytes, 6 * 20 * 16 * 2 * 2); // heads, tokens, dim, bf16, k and v
    EXPECT_DOUBLE_EQ(rows[0].textShare, 20.0 / 90.0);
    EXPECT_TRUE(std::isnan(rows[0].imageShare)) << "a trace without pictures";
    EXPECT_NEAR(rows[6].outputError, 0, 1e-6); // full
}

TEST(Sweep, anImpossibleSettingIsARowThatSaysWhy) { // F031
    const auto opened = open();
    const auto rows = sweep(*opened->replayer, {grid("ecokv:recent=30,snapkv:window=8", {20, 40})});
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_NE(rows[0].refused.find("smaller than what is always kept: 0 sinks + 30 recent"),
              std::string::npos)
        << rows[0].refused;
    EXPECT_EQ(rows[1].refused, "");
    EXPECT_EQ(rows[2].refused, "");
}

TEST(Sweep, ofImpossibleSettingsOnlyIsRefused) {
    const auto opened = open();
    EXPECT_THROW(sweep(*opened->replayer, {grid("ecokv:recent=30", {20})}), Error);
}

TEST(Sweep, withoutValuesHasNoOutputError) {
    test::SyntheticOptions options;
    options.values = false;
    const auto opened = open(options);
    const auto rows = sweep(*opened->replayer, {grid("ecokv", {20})});
    EXPECT_TRUE(std::isnan(rows[0].outputError));
    EXPECT_GT(rows[0].retainedMass, 0);
}

TEST(Sweep, isCancelledBetweenSettings) {
    const auto opened = open();
    CancellationSource stop;
    std::int64_t seen = 0;
    try {
        sweep(
            *opened->replayer, {grid("ecokv", {20, 30, 40})},
            [&](const Progress& progress) {
                seen = progress.done;
                stop.cancel();
            },
            stop.token());
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
    }
    EXPECT_EQ(seen, 1);
}

TEST(Sweep, asCsvHasAsManyCellsInEveryRow) {
    const auto opened = open();
    const auto rows = sweep(*opened->replayer, {grid("ecokv:recent=30,random", {20, 40})});
    std::istringstream csv(sweepCsv(opened->replayer->reader(), rows));
    std::string line;
    std::getline(csv, line);
    EXPECT_EQ(line, "# sweep of a.ecokv.h5, 90 tokens, 3 layers of 2 KV heads");
    std::getline(csv, line);
    const auto cells = std::count(line.begin(), line.end(), ',');
    std::int64_t lines = 0;
    while (std::getline(csv, line)) {
        // The settings cell of ecokv is quoted, for it holds a comma.
        const auto inQuotes = line.find('"') != std::string::npos ? 1 : 0;
        EXPECT_EQ(std::count(line.begin(), line.end(), ',') - inQuotes, cells) << line;
        ++lines;
    }
    EXPECT_EQ(lines, 4);
}

} // namespace ecokv::analysis
