// SPDX-License-Identifier: GPL-3.0-or-later
// What a comparison records of a policy comes back from the trace as it was written.
#include "support/sample_trace.h"
#include "trace/trace_reader.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ecokv::trace {

namespace {

using test::TemporaryFolder;

/// Two policies of a comparison: the first answered in one token where the full cache took three.
void writeComparison(const std::filesystem::path& path) {
    TraceWriter writer(test::sampleWriterOptions(path));
    for (std::int64_t layer = 0; layer < 4; ++layer) {
        test::writeSampleLayer(writer, {}, layer);
    }
    PolicyRecord policy;
    policy.kept.assign(4 * 2 * 30, 1);
    policy.budgetPerHead.assign(4 * 2, 30);
    policy.measuredError = {0, 1, 2, 3, 4, 5, 6, 7};
    policy.attributes = {{"mean_kl", 0.25}, {"first_divergence", std::int64_t{1}}};
    for (const char* id : {"0", "1"}) {
        policy.id = id;
        writer.writePolicy(policy);
    }
    DecodeRecord answer;
    answer.tokenIds = {52};
    answer.tokenText = {"4"};
    writer.writePolicyDecode("0", answer);
    writer.writePolicyForced("0", {{0.0F, 0.5F, 1.5F}, {1, 1, 0}, {-0.1F, -0.2F, -3.0F}});
    writer.close();
}

} // namespace

TEST(ForcedRecords, stepsComeBackBesideAnAnswerOfAnotherLength) {
    const TemporaryFolder folder;
    writeComparison(folder / "a.ecokv.h5");
    const TraceReader reader(folder / "a.ecokv.h5");
    const auto forced = reader.policyForced("0");
    ASSERT_TRUE(forced);
    EXPECT_EQ(forced->kl, (std::vector<float>{0.0F, 0.5F, 1.5F}));
    EXPECT_EQ(forced->top1Agree, (std::vector<std::uint8_t>{1, 1, 0}));
    EXPECT_EQ(forced->logprob, (std::vector<float>{-0.1F, -0.2F, -3.0F}));
    EXPECT_EQ(reader.policyDecode("0")->tokenIds, (std::vector<std::int64_t>{52}));
    EXPECT_FALSE(reader.policyForced("1")); // evaluated, not compared
}

TEST(ForcedRecords, measuredErrorsAndMeansComeBack) {
    const TemporaryFolder folder;
    writeComparison(folder / "a.ecokv.h5");
    const TraceReader reader(folder / "a.ecokv.h5");
    const PolicyRecord policy = reader.policy("1");
    EXPECT_EQ(policy.measuredError, (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(std::get<double>(policy.attributes.at("mean_kl")), 0.25);
    EXPECT_EQ(std::get<std::int64_t>(policy.attributes.at("first_divergence")), 1);
}

TEST(ForcedRecords, datasetsSayWhatTheyAre) {
    const TemporaryFolder folder;
    writeComparison(folder / "a.ecokv.h5");
    const auto entries = TraceReader(folder / "a.ecokv.h5").entries();
    const auto entry = [&](const char* path) {
        const auto found = std::find_if(entries.begin(), entries.end(),
                                        [&](const auto& e) { return e.path == path; });
        return found == entries.end() ? DatasetEntry{} : *found;
    };
    EXPECT_EQ(entry("/policies/0/decode/kl").units, "nat");
    EXPECT_EQ(entry("/policies/0/decode/kl").axes, "full_step");
    EXPECT_EQ(entry("/policies/0/decode/top1_agree").dtype, "uint8");
    EXPECT_EQ(entry("/policies/1/measured_error").axes, "layer, kv_head");
}

TEST(ForcedRecords, thePredictedSizeGrowsWithThePolicies) {
    const TemporaryFolder folder;
    WriterOptions options = test::sampleWriterOptions(folder / "a.ecokv.h5");
    const std::uint64_t one = predictedBytes(options);
    options.policies = 11;
    EXPECT_GE(predictedBytes(options) - one, 10U * 4 * 2 * 30); // `kept` of ten more
}

} // namespace ecokv::trace
