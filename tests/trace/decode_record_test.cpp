// SPDX-License-Identifier: GPL-3.0-or-later
// Lengths, evictions and questions of a generation come back from a trace as they were written.
#include "base/error.h"
#include "support/sample_trace.h"
#include "trace/trace_reader.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ecokv::trace {

namespace {

using test::TemporaryFolder;

/// Two steps on the sample's 4 layers x 2 KV heads; head [layer, kvHead] holds 10 layer + kvHead
/// tokens after step 0 and one more after step 1.
DecodeRecord twoSteps() {
    DecodeRecord decode;
    decode.tokenIds = {52, 48};
    decode.tokenText = {"4", "0"};
    for (std::int32_t step = 0; step < 2; ++step) {
        for (std::int32_t layer = 0; layer < 4; ++layer) {
            decode.keptLength.push_back(10 * layer + step);
            decode.keptLength.push_back(10 * layer + 1 + step);
        }
    }
    decode.evictions = {{0, 0, 1}, {3, 3, 0}, {1, 1, 0}, {7, 30, 2}};
    return decode;
}

/// The sample with a third policy that has a decode and two questions.
std::filesystem::path writeTrace(const std::filesystem::path& path, const DecodeRecord& decode) {
    TraceWriter writer(test::sampleWriterOptions(path));
    for (std::int64_t layer = 0; layer < 4; ++layer) {
        test::writeSampleLayer(writer, {}, layer);
    }
    PolicyRecord policy;
    policy.id = "0";
    policy.kept.assign(4 * 2 * 30, 1);
    policy.budgetPerHead.assign(4 * 2, 30);
    writer.writePolicy(policy);
    writer.writePolicyDecode("0", decode);
    for (std::int64_t index = 0; index < 11; ++index) {
        DecodeRecord question = decode;
        question.questionIds = {100, index};
        question.attributes = {{"question", std::string(1, static_cast<char>('a' + index))}};
        writer.writeQuestion("0", index, question);
    }
    DecodeRecord full;
    full.tokenIds = {52};
    full.tokenText = {"4"};
    full.questionIds = {100, 0};
    writer.writeQuestion("", 0, full);
    writer.close();
    return path;
}

} // namespace

TEST(DecodeRecords, lengthsAndEvictionsComeBack) {
    const TemporaryFolder folder;
    const TraceReader reader(writeTrace(folder / "a.ecokv.h5", twoSteps()));
    const auto decode = reader.policyDecode("0");
    ASSERT_TRUE(decode);
    EXPECT_EQ(decode->keptLength, twoSteps().keptLength);
    EXPECT_EQ(decode->evictions.step, (std::vector<std::int64_t>{0, 0, 1}));
    EXPECT_EQ(decode->evictions.layer, (std::vector<std::int32_t>{3, 3, 0}));
    EXPECT_EQ(decode->evictions.kvHead, (std::vector<std::int32_t>{1, 1, 0}));
    EXPECT_EQ(decode->evictions.position, (std::vector<std::int64_t>{7, 30, 2}));

    const auto entries = reader.entries();
    const auto lengths = std::find_if(entries.begin(), entries.end(), [](const auto& entry) {
        return entry.path == "/policies/0/decode/kept_length";
    });
    ASSERT_NE(lengths, entries.end());
    EXPECT_EQ(lengths->shape, (std::vector<std::int64_t>{2, 4, 2}));
    EXPECT_EQ(lengths->dtype, "int32");
    EXPECT_EQ(lengths->axes, "step, layer, kv_head");
    EXPECT_FALSE(lengths->description.empty());
}

TEST(DecodeRecords, questionsComeBackInTheOrderOfAsking) {
    const TemporaryFolder folder;
    const TraceReader reader(writeTrace(folder / "a.ecokv.h5", twoSteps()));
    const auto questions = reader.policyQuestions("0");
    ASSERT_EQ(questions.size(), 11U); // 10 comes after 9, not after 1
    EXPECT_EQ(questions[10].questionIds, (std::vector<std::int64_t>{100, 10}));
    EXPECT_EQ(std::get<std::string>(questions[2].attributes.at("question")), "c");
    EXPECT_EQ(questions[10].keptLength, twoSteps().keptLength);
    ASSERT_EQ(reader.questions().size(), 1U);
    EXPECT_TRUE(reader.questions()[0].keptLength.empty());
    EXPECT_FALSE(reader.decode());
}

TEST(DecodeRecords, tracesWithoutThemReadAsBefore) {
    const TemporaryFolder folder;
    const TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5"));
    EXPECT_TRUE(reader.questions().empty());
    EXPECT_TRUE(reader.policyQuestions("0").empty());
    const auto decode = reader.policyDecode("0");
    ASSERT_TRUE(decode);
    EXPECT_TRUE(decode->keptLength.empty());
    EXPECT_TRUE(decode->evictions.step.empty());
}

TEST(DecodeRecords, aWrongNumberOfLengthsIsABug) {
    const TemporaryFolder folder;
    DecodeRecord decode = twoSteps();
    decode.keptLength.pop_back();
    EXPECT_THROW(writeTrace(folder / "a.ecokv.h5", decode), Error);
    decode = twoSteps();
    decode.evictions.position.pop_back();
    EXPECT_THROW(writeTrace(folder / "b.ecokv.h5", decode), Error);
}

} // namespace ecokv::trace
