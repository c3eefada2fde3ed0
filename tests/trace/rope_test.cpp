// SPDX-License-Identifier: GPL-3.0-or-later
// How keys were rotated and which layers have no KV cache, written and read back.
#include "support/sample_trace.h"
#include "trace/cache_file.h"
#include "trace/trace_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ecokv::trace {

using test::SampleOptions;
using test::TemporaryFolder;

namespace {

using Positions = std::vector<std::array<std::int32_t, 3>>;

/// The sample of 4 layers, 30 tokens, 8 dims with this model and prompt; linear layers as given.
std::filesystem::path write(const std::filesystem::path& path, ModelRecord model,
                            const Positions& positions, bool compact = false) {
    SampleOptions options;
    options.compact = compact;
    WriterOptions writing = test::sampleWriterOptions(path, options);
    writing.linearLayers = model.linearLayers;
    TraceWriter writer(writing);
    model.attributes["rope_style"] = std::string("half");
    writer.writeModel(model);
    PromptRecord prompt = test::samplePrompt();
    prompt.ropePositions = positions;
    writer.writePrompt(prompt);
    for (std::int64_t layer = 0; layer < options.dimensions.layers; ++layer) {
        const auto at = static_cast<std::size_t>(layer);
        if (at >= model.linearLayers.size() || model.linearLayers[at] == 0) {
            test::writeSampleLayer(writer, options, layer);
        }
    }
    writer.close();
    return path;
}

Positions thirtyPositions() {
    Positions positions;
    for (std::int32_t token = 0; token < 30; ++token) {
        positions.push_back({token / 10, token % 10, token % 7});
    }
    return positions;
}

} // namespace

TEST(Ropes, comeBackPerLayerWithAxesAndScaling) {
    const TemporaryFolder folder;
    ModelRecord model;
    model.ropes = {{{1.0F, 0.5F, 0.25F, 0.125F}, {0, 1, 2, 2}, 1.0},
                   {{1.0F, 0.01F}, {}, 1.125}}; // four of eight dims turn
    model.ropeOfLayer = {0, 1, 1, 0};
    const TraceReader reader(write(folder / "a.ecokv.h5", model, thirtyPositions()));
    const auto rotation = reader.rotation();
    ASSERT_TRUE(rotation);
    EXPECT_FALSE(rotation->interleaved);
    ASSERT_EQ(rotation->ropes.size(), 2U);
    EXPECT_EQ(rotation->ropes[0].inverseFrequencies, model.ropes[0].inverseFrequencies);
    EXPECT_EQ(rotation->ropes[0].axes, model.ropes[0].axes);
    EXPECT_EQ(rotation->ropes[0].attentionScaling, 1.0);
    EXPECT_EQ(rotation->ropes[1].inverseFrequencies, model.ropes[1].inverseFrequencies);
    EXPECT_TRUE(rotation->ropes[1].axes.empty());
    EXPECT_EQ(rotation->ropes[1].attentionScaling, 1.125);
    EXPECT_EQ(rotation->indexOf(0), 0U);
    EXPECT_EQ(rotation->indexOf(2), 1U);
    EXPECT_EQ(rotation->positions, thirtyPositions());
    EXPECT_EQ(reader.prompt()->ropePositions, thirtyPositions());
    const auto entries = reader.entries();
    const auto axes = std::ranges::find(entries, "/model/rope_axes", &DatasetEntry::path);
    ASSERT_NE(axes, entries.end());
    EXPECT_NE(axes->description.find("column"), std::string::npos);
}

TEST(Ropes, aLayerThatDoesNotTurnHasNoFrequencies) {
    const TemporaryFolder folder;
    ModelRecord model;
    model.ropes = {{{1.0F, 0.5F}, {}, 1.0}, {}};
    model.ropeOfLayer = {0, 1, 0, 1};
    const TraceReader reader(write(folder / "a.ecokv.h5", model, {}));
    const auto rotation = reader.rotation();
    ASSERT_TRUE(rotation);
    ASSERT_EQ(rotation->ropes.size(), 2U);
    EXPECT_TRUE(rotation->ropes[1].inverseFrequencies.empty());
    EXPECT_TRUE(rotation->positions.empty());
    EXPECT_TRUE(reader.prompt()->ropePositions.empty());
}

class LinearLayers : public testing::TestWithParam<bool> {}; // compact

TEST_P(LinearLayers, countAsRecordedAndReadAsNaN) {
    const TemporaryFolder folder;
    ModelRecord model;
    model.linearLayers = {1, 0, 1, 0};
    const TraceReader reader(write(folder / "a.ecokv.h5", model, {}, GetParam()));
    EXPECT_TRUE(reader.complete());
    EXPECT_TRUE(reader.layersComplete());
    for (const std::string& problem : reader.problems()) {
        EXPECT_EQ(problem.find("layers are recorded"), std::string::npos) << problem;
    }
    EXPECT_EQ(reader.model()->linearLayers, model.linearLayers);
    const auto redundancy = reader.headMetric("redundancy");
    EXPECT_TRUE(std::isnan(redundancy[0]));
    EXPECT_EQ(redundancy[2], test::sampleRedundancy(1, 0));
    EXPECT_TRUE(std::isnan(redundancy[5]));
    for (const float score : reader.scores("importance", 2, 1)) {
        ASSERT_TRUE(std::isnan(score));
    }
    EXPECT_EQ(reader.scores("importance", 3, 1)[5], test::sampleImportance(3, 1, 5));
    for (const float key : reader.keys(0, 1)) {
        ASSERT_TRUE(std::isnan(key));
    }
    EXPECT_EQ(reader.keys(1, 1)[0], test::sampleKey(1, 1, 0, 0));
}

INSTANTIATE_TEST_SUITE_P(Storage, LinearLayers, testing::Bool());

TEST(LinearLayersOf, aRunThatIsCutOffCountThemToo) {
    const TemporaryFolder folder;
    const auto path = folder / "a.ecokv.h5";
    {
        const SampleOptions options;
        WriterOptions writing = test::sampleWriterOptions(path, options);
        writing.linearLayers = {1, 0, 1, 0};
        TraceWriter writer(writing);
        test::writeSampleLayer(writer, options, 1);
    }
    const TraceReader reader(path.string() + ".part");
    EXPECT_EQ(reader.layersWritten(), 3);
}

TEST(LinearLayersOf, takeNoSpaceForTensors) {
    const TemporaryFolder folder;
    WriterOptions options = test::sampleWriterOptions(folder / "a.ecokv.h5", SampleOptions());
    options.dimensions.tokens = 4000;
    const std::uint64_t all = predictedBytes(options);
    options.linearLayers = {1, 1, 1, 0};
    const std::uint64_t one = predictedBytes(options);
    // 3 layers x 2 heads x 4000 tokens x 8 dims x keys and values, 4 bytes each
    EXPECT_NEAR(static_cast<double>(all - one), 3.0 * 2 * 4000 * 8 * 2 * 4,
                0.1 * static_cast<double>(all - one));
}

TEST(CacheFilePositions, F067_comeBackAndAreZeroInOlderFiles) {
    const TemporaryFolder folder;
    CacheRecord record;
    record.layers = record.heads = record.kvHeads = 1;
    record.headDim = 2;
    record.tokensSeen = 11;
    record.positionShift = -3;
    record.tokenIds = {5, 6};
    record.ropePositions = {{0, 0, 0}, {1, 4, 9}};
    const auto layer = [](std::int64_t) {
        CacheLayer content;
        content.positions = {{}};
        return content;
    };
    writeCacheFile(folder / "a.h5", record, layer);
    const CacheFileReader reader(folder / "a.h5");
    EXPECT_EQ(reader.record().positionShift, -3);
    EXPECT_EQ(reader.record().ropePositions, record.ropePositions);
    record.positionShift = 0;
    record.ropePositions.clear();
    writeCacheFile(folder / "b.h5", record, layer);
    EXPECT_TRUE(CacheFileReader(folder / "b.h5").record().ropePositions.empty());
}

} // namespace ecokv::trace
