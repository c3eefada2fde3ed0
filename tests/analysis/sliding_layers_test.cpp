// SPDX-License-Identifier: GPL-3.0-or-later
// A trace of four layers of which the first and the third slide (field case F034): they keep all 90
// tokens, and no mean, total or comparison of what a policy keeps knows of them.
#include "analysis/geometry_summary.h"
#include "analysis/kinds_trace.h"
#include "analysis/policy_diff.h"
#include "analysis/replay_file.h"
#include "analysis/sweep.h"

#include <gtest/gtest.h>

#include <array>

namespace ecokv::analysis {

namespace {

constexpr std::int64_t kTokens = 90, kBudget = 20;
constexpr std::int64_t kRowBytes = 2 * 16 * 2; // key and value x dims x bf16
constexpr std::array<std::size_t, 4> kEvictedHeads{2, 3, 6, 7};

class SlidingTrace : public KindsTrace {
protected:
    SlidingTrace() : KindsTrace({.slidingWindows = {32, 0, 32, 0}}) {}
};

} // namespace

TEST_F(SlidingTrace, replayKeepsThemWholeAndCountsTheOthers) {
    const ReplayResult replayed = replay("ecokv:budget=20,recent=4");
    EXPECT_EQ(replayed.budgetPerHead[0], kTokens);
    EXPECT_EQ(replayed.budgetPerHead[5], kTokens);
    EXPECT_EQ(replayed.counted(replayed.budgetPerHead),
              (std::vector<std::int32_t>{20, 20, 20, 20}));
    EXPECT_EQ(replayed.keptBytes(), 4 * kBudget * kRowBytes);
    EXPECT_EQ(replayed.fullBytes(), 4 * kTokens * kRowBytes);
}

TEST_F(SlidingTrace, whatReplayWritesHasTheBytesOfARun) {
    writeReplay(*m_reader, replay("ecokv:budget=20,recent=4"),
                {.path = m_folder / "b.ecokv.h5", .producer = "test"});
    const trace::PolicyRecord policy = trace::TraceReader(m_folder / "b.ecokv.h5").policy("0");
    EXPECT_EQ(std::get<std::int64_t>(policy.attributes.at("full_bytes")), 4 * kTokens * kRowBytes);
    EXPECT_EQ(std::get<std::int64_t>(policy.attributes.at("kept_bytes")), 4 * kBudget * kRowBytes);
}

TEST_F(SlidingTrace, meansOfASweepAreOverTheOthers) {
    Replayer replayer(m_reader);
    const auto rows =
        sweep(replayer, {.policies = {policy::parsePolicy("ecokv:budget=20,recent=4")}, .rows = 8});
    const ReplayResult replayed =
        replayer.replay({.policy = policy::parsePolicy("ecokv:budget=20,recent=4"),
                         .outputError = true,
                         .measureRows = 8});
    double mass = 0, error = 0;
    for (const std::size_t head : kEvictedHeads) {
        mass += static_cast<double>(replayed.retainedMass[head]) / 4;
        error += static_cast<double>(replayed.outputError[head]) / 4;
    }
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_DOUBLE_EQ(rows[0].keptPerHead, kBudget);
    EXPECT_DOUBLE_EQ(rows[0].keptBytes, 4 * kBudget * kRowBytes);
    EXPECT_LT(mass, 1); // the sliding heads hold all of it
    EXPECT_NEAR(rows[0].retainedMass, mass, 1e-12);
    EXPECT_NEAR(rows[0].outputError, error, 1e-12);
    EXPECT_DOUBLE_EQ(rows[0].textShare, static_cast<double>(kBudget) / kTokens);
}

TEST_F(SlidingTrace, clustersAreOfHeadsThatEvict) {
    const std::vector<std::uint8_t> kept = replay("ecokv:budget=20,recent=4").kept();
    const trace::ModelRecord model = m_reader->model().value();
    const NamedSurvivors survivors{"ecokv", kept, model.kinds()};
    EXPECT_EQ(clusterSurvivors(m_reader->dimensions(), survivors).heads,
              (std::vector<std::int64_t>{2, 3, 6, 7}));
    EXPECT_EQ(clusterSurvivors(m_reader->dimensions(), survivors, 2).heads, // as it was named
              (std::vector<std::int64_t>{4, 5}));
}

TEST_F(SlidingTrace, theSummaryOfGeometryIsOfTheOthers) {
    GeometryTable table = geometryTable(*m_reader);
    const trace::ModelRecord model = m_reader->model().value();
    table.counted = model.kinds().counted(table.layers);
    EXPECT_EQ(table.leftOut(), 2);
    double mean = 0;
    for (const std::size_t head : kEvictedHeads) {
        mean += static_cast<double>(table.metrics.at("redundancy_cosine")[head]) / 4;
    }
    const auto undone = contrast(table, "redundancy_cosine_pre", "redundancy_cosine");
    ASSERT_TRUE(undone);
    EXPECT_EQ(undone->heads, 4);
    EXPECT_NEAR(undone->second, mean, 1e-12);
    EXPECT_EQ(rankedHeads(table, "redundancy_cosine").size(), 4U);
    std::vector<ImportanceRelation> relations(2); // of a sliding layer, and of one that evicts
    relations[0].composite = relations[0].cosine = relations[0].euclid = {-1, 0};
    relations[1].composite = relations[1].cosine = relations[1].euclid = {0.5, 0};
    relations[1].layer = 1;
    const auto lines = describeGeometry(table, relations, std::nullopt);
    EXPECT_EQ(lines.back(), "Left out of these lines: 2 of 4 layers (not evicted).");
    EXPECT_NE(lines[lines.size() - 3].find("+0.50 (cosine), +0.50 (Euclid)"), std::string::npos);
}

TEST_F(SlidingTrace, aDiffMeansTheHeadsThatCanDiffer) {
    const ReplayResult a = replay("ecokv:budget=20,recent=4"), b = replay("streaming:budget=20");
    const trace::ModelRecord model = m_reader->model().value();
    const PolicyDiff diff = diffPolicies(m_reader->dimensions(), {"a", a.kept(), {}},
                                         {"b", b.kept(), {}}, model.kinds());
    EXPECT_DOUBLE_EQ(diff.heads[0].jaccard, 1);
    double mean = 0;
    for (const std::size_t head : kEvictedHeads) {
        mean += diff.heads[head].jaccard / 4;
    }
    EXPECT_LT(mean, 1);
    EXPECT_DOUBLE_EQ(diff.jaccard, mean);
}

} // namespace ecokv::analysis
