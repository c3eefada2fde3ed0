// SPDX-License-Identifier: GPL-3.0-or-later
// A trace of four layers of which the first and the third have no KV cache: what is asked of it is
// answered for the others, and no mean knows of the two.
#include "analysis/cache_length.h"
#include "analysis/geometry_summary.h"
#include "analysis/geometry_table.h"
#include "analysis/kinds_trace.h"
#include "analysis/policy_diff.h"
#include "analysis/replay_file.h"
#include "analysis/sweep.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ecokv::analysis {

namespace {

class LinearTrace : public KindsTrace {
protected:
    LinearTrace() : KindsTrace({.linearLayers = {1, 0, 1, 0}}) {}
};

} // namespace

TEST_F(LinearTrace, replayKeepsNothingOfThemAndHasNoNumbersForThem) {
    for (const char* allocator : {"uniform", "pyramid", "adaptive"}) {
        const auto replayed =
            replay(std::string("ecokv:budget=20,recent=4,allocator=") + allocator);
        std::int64_t kept = 0;
        for (std::size_t head = 0; head < 8; ++head) {
            const bool linear = head / 2 % 2 == 0;
            EXPECT_EQ(replayed.budgetPerHead[head] == 0, linear);
            EXPECT_EQ(std::isnan(replayed.retainedMass[head]), linear);
            EXPECT_EQ(std::isnan(replayed.outputError[head]), linear);
            EXPECT_EQ(std::isnan(replayed.participationRatio[head]), linear);
            kept += replayed.budgetPerHead[head];
        }
        EXPECT_EQ(kept, 4 * 20) << allocator; // four heads have a cache
        EXPECT_EQ(replayed.counted(replayed.budgetPerHead).size(), 4U);
    }
}

TEST_F(LinearTrace, whatReplayWritesIsATraceOfTheSameLayers) {
    const auto replayed = replay("ecokv:budget=20,recent=4");
    writeReplay(*m_reader, replayed, {.path = m_folder / "b.ecokv.h5", .producer = "test"});
    const trace::TraceReader written(m_folder / "b.ecokv.h5");
    EXPECT_TRUE(written.layersComplete());
    EXPECT_EQ(written.model()->linearLayers, (std::vector<std::uint8_t>{1, 0, 1, 0}));
    EXPECT_TRUE(std::isnan(written.headMetric("redundancy")[4]));
    EXPECT_TRUE(std::isfinite(written.headMetric("redundancy")[7]));
    const trace::PolicyRecord policy = written.policy("0");
    // two layers x two heads x 90 tokens x key and value x 16 dims of bf16
    EXPECT_EQ(std::get<std::int64_t>(policy.attributes.at("full_bytes")), 4 * 90 * 2 * 16 * 2);
    EXPECT_EQ(std::get<std::int64_t>(policy.attributes.at("kept_bytes")), 4 * 20 * 2 * 16 * 2);
}

TEST_F(LinearTrace, meansOfASweepAreOverTheOthers) {
    Replayer replayer(m_reader);
    const auto rows = sweep(replayer, {.policies = {policy::parsePolicy("ecokv:budget=20,recent=4"),
                                                    policy::parsePolicy("full")}});
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_DOUBLE_EQ(rows[0].keptPerHead, 20);
    EXPECT_GT(rows[0].retainedMass, 0);
    EXPECT_GT(rows[0].worstError, rows[0].outputError);
    EXPECT_DOUBLE_EQ(rows[1].keptPerHead, 90);
    EXPECT_NEAR(rows[1].retainedMass, 1, 1e-5);
    EXPECT_DOUBLE_EQ(rows[1].textShare, 1);
}

TEST_F(LinearTrace, geometryClustersAndDiffsLeaveThemOut) {
    const GeometryTable table = geometryTable(*m_reader, {});
    EXPECT_TRUE(table.notes.empty() || table.notes.front().find("image") != std::string::npos);
    for (std::int64_t layer = 0; layer < 4; ++layer) {
        EXPECT_EQ(std::isnan(table.value("anisotropy", layer, 1)), layer % 2 == 0);
        EXPECT_EQ(std::isnan(table.value("anisotropy_pre", layer, 1)), layer % 2 == 0);
    }
    const auto a = replay("ecokv:budget=20,recent=4"), b = replay("streaming:budget=20");
    const std::vector<std::uint8_t> kept = a.kept();
    const trace::ModelRecord model = m_reader->model().value();
    const auto clusters = clusterSurvivors(m_reader->dimensions(), {"ecokv", kept, model.kinds()});
    EXPECT_EQ(clusters.heads, (std::vector<std::int64_t>{2, 3, 6, 7}));
    EXPECT_EQ(clusters.clusters.merges.size(), 3U);
    const PolicyDiff diff =
        diffPolicies(m_reader->dimensions(), {"a", a.kept(), {}}, {"b", b.kept(), {}});
    EXPECT_TRUE(std::isnan(diff.heads[0].jaccard));
    double mean = 0;
    for (const std::size_t head : {2, 3, 6, 7}) {
        mean += diff.heads[head].jaccard / 4;
    }
    EXPECT_DOUBLE_EQ(diff.jaccard, mean);
}

TEST(CacheLengthsOf, layersWithoutACacheAreNotCounted) {
    const std::vector<std::int32_t> kept{0, 0, 10, 14,
                                         0, 0, 20, 20}; // a step of 4 layers x 2 heads
    const std::vector<std::int64_t> windows{0, 0, 0, 8};
    const std::vector<std::uint8_t> linear{1, 0, 1, 0};
    const auto lengths = cacheLengths({kept, 4, 2, {windows, linear}});
    ASSERT_EQ(lengths.mean.size(), 1U);
    EXPECT_DOUBLE_EQ(lengths.mean[0], 12);
    EXPECT_EQ(lengths.slidingLayers, 1);
    const std::vector<std::uint8_t> allLinear{1, 1, 1, 1};
    EXPECT_TRUE(cacheLengths({kept, 4, 2, {{}, allLinear}}).empty()); // no mean of nothing
}

} // namespace ecokv::analysis
