// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "base/float_convert.h"
#include "support/sample_trace.h"
#include "trace/trace_reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

namespace ecokv::trace {

namespace fs = std::filesystem;

namespace {

std::string messageOf(auto call) {
    try {
        call();
    } catch (const Error& error) {
        return error.message();
    }
    return {};
}

} // namespace

TEST(TraceWriter, writesUnderAPartNameUntilItIsClosed) { // F124
    const test::TemporaryFolder folder;
    const fs::path path = folder / "a.ecokv.h5";
    TraceWriter writer(test::sampleWriterOptions(path));
    EXPECT_TRUE(fs::exists(path.string() + ".part"));
    EXPECT_FALSE(fs::exists(path));
    writer.close();
    EXPECT_FALSE(fs::exists(path.string() + ".part"));
    EXPECT_TRUE(TraceReader(path).complete());
}

TEST(TraceWriter, anEarlierTraceStaysUntilTheNewOneIsComplete) {
    const test::TemporaryFolder folder;
    const fs::path path = folder / "a.ecokv.h5";
    test::writeSampleTrace(path);
    test::SampleOptions half;
    half.layersWritten = 1;
    test::writeSampleTrace(path, half);
    EXPECT_TRUE(TraceReader(path).complete());
    test::writeSampleTrace(path); // replaces both the .part and the trace
    EXPECT_FALSE(fs::exists(path.string() + ".part"));
}

TEST(TraceWriter, copiesStridedViewsRightAndKeepsNothingOfTheCaller) {
    const test::TemporaryFolder folder;
    const Dimensions d{1, 2, 2, 5, 3, 2};
    WriterOptions options;
    options.path = folder / "a.ecokv.h5";
    options.dimensions = d;
    options.tensorDType = DType::BF16;
    options.windowPositions = {1, 4};
    TraceWriter writer(options);
    // As a model lays it out: [token, kvHead, dim], seen as [kvHead, token, dim]; values exact.
    std::vector<std::uint16_t> memory(5 * 2 * 3);
    for (std::size_t i = 0; i < memory.size(); ++i) {
        memory[i] = floatToBf16(static_cast<float>(i));
    }
    auto keys = TensorView::contiguous(memory.data(), DType::BF16, {2, 5, 3});
    keys.strides = {3, 6, 1, 0};
    std::vector<float> transposed(2 * 5 * 3); // [kvHead, dim, token]: no stride is 1 along dim
    for (std::size_t i = 0; i < transposed.size(); ++i) {
        transposed[i] = static_cast<float>(i) / 4;
    }
    auto values = TensorView::contiguous(transposed.data(), DType::F32, {2, 5, 3});
    values.strides = {15, 1, 5, 0};
    LayerRecord layer;
    layer.keys = keys;
    layer.values = values;
    layer.windowQueries = keys.slice(1, 3, 5);
    writer.writeLayer(layer);
    std::fill(memory.begin(), memory.end(), std::uint16_t{0}); // the record must own its copy
    std::fill(transposed.begin(), transposed.end(), 0.0F);
    writer.close();

    const TraceReader reader(options.path);
    EXPECT_EQ(reader.keys(0, 1),
              (std::vector<float>{3, 4, 5, 9, 10, 11, 15, 16, 17, 21, 22, 23, 27, 28, 29}));
    EXPECT_EQ(reader.values(0, 1), (std::vector<float>{3.75F, 5, 6.25F, 4, 5.25F, 6.5F, 4.25F, 5.5F,
                                                       6.75F, 4.5F, 5.75F, 7, 4.75F, 6, 7.25F}));
    EXPECT_EQ(reader.windowQueries(0, 0), (std::vector<float>{18, 19, 20, 24, 25, 26}));
    EXPECT_EQ(reader.windowPositions(), (std::vector<std::int64_t>{1, 4}));
}

TEST(TraceWriter, severalChunksPerHeadAreJoinedWithoutTheirPadding) {
    const test::TemporaryFolder folder;
    test::SampleOptions options;
    options.dimensions = {1, 1, 1, 10'001, 64, 1}; // 2.44 MiB a head: three chunks
    options.recordValues = false;
    const TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5", options));
    const auto keys = reader.keys(0, 0);
    ASSERT_EQ(keys.size(), 10'001U * 64U);
    for (const std::int64_t token : {0, 3333, 3334, 3335, 6667, 6668, 10'000}) {
        EXPECT_EQ(keys[static_cast<std::size_t>(token * 64 + 63)],
                  test::sampleKey(0, 0, token, 63));
    }
    EXPECT_EQ(reader.scores("key_norm", 0, 0).back(), 1.0F + 0.1F * 10'000.0F);
}

TEST(TraceWriter, predictsTheSizeOfTheFileBeforeWritingIt) {
    for (const DType dtype : {DType::F32, DType::BF16}) {
        const test::TemporaryFolder folder;
        test::SampleOptions options;
        options.dimensions = {6, 8, 4, 900, 64, 32};
        options.storage = dtype;
        const auto path = folder / "a.ecokv.h5";
        const auto predicted =
            static_cast<double>(predictedBytes(test::sampleWriterOptions(path, options)));
        test::writeSampleTrace(path, options);
        EXPECT_NEAR(static_cast<double>(fs::file_size(path)) / predicted, 1.0, 0.1);
    }
}

TEST(TraceWriter, refusesATraceLargerThanTheDisk) {
    const test::TemporaryFolder folder;
    test::SampleOptions options;
    options.dimensions = {1000, 1000, 1000, 1'000'000, 128, 64};
    const auto message = messageOf(
        [&] { TraceWriter writer(test::sampleWriterOptions(folder / "a.ecokv.h5", options)); });
    EXPECT_NE(message.find("will take"), std::string::npos) << message;
    EXPECT_NE(message.find("MiB free"), std::string::npos) << message;
    EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(TraceWriter, saysWhyATargetCannotBeWritten) {
    const test::TemporaryFolder folder;
    const auto refusal = [](const fs::path& path) {
        return messageOf([&] { TraceWriter writer(test::sampleWriterOptions(path)); });
    };
    EXPECT_NE(refusal(folder / "none/a.ecokv.h5").find("none does not exist"), std::string::npos);
    EXPECT_NE(refusal(folder.path()).find("it is a folder"), std::string::npos);
    EXPECT_NE(refusal("/proc/a.ecokv.h5").find("/proc/a.ecokv.h5"), std::string::npos);
}

TEST(TraceWriter, refusesRecordsThatDoNotFitTheTrace) {
    const test::TemporaryFolder folder;
    const test::SampleOptions options;
    TraceWriter writer(test::sampleWriterOptions(folder / "a.ecokv.h5", options));
    LayerRecord layer;
    float value = 0;
    layer.keys = TensorView::contiguous(&value, DType::F32, {1, 1, 1});
    EXPECT_EQ(messageOf([&] { writer.writeLayer(layer); }),
              "The trace expects keys as float [2, 30, 8] on cpu, not float32 [1, 1, 1] on cpu.");
    layer.layer = 4;
    EXPECT_EQ(messageOf([&] { writer.writeLayer(layer); }), "The trace has no layer 4 among 4.");
    auto prompt = test::samplePrompt(29); // reported by the writing thread
    writer.writePrompt(prompt);
    EXPECT_NE(messageOf([&] { writer.close(); }).find("29 entries of token_ids; 30 were expected"),
              std::string::npos);
}

TEST(TraceWriter, writesResultsWithoutTensorsThatOpenAsATrace) {
    const test::TemporaryFolder folder;
    WriterOptions options = test::sampleWriterOptions(folder / "a.ecokv.h5");
    options.recordTensors = false;
    options.dimensions = {.layers = 2, .kvHeads = 2, .tokens = 3};
    EXPECT_LT(predictedBytes(options), 1U << 20);
    {
        TraceWriter writer(options);
        for (std::int64_t layer = 0; layer < 2; ++layer) {
            const auto shift = static_cast<float>(layer);
            writer.writeLayer({.layer = layer,
                               .keys = {},
                               .values = {},
                               .windowQueries = {},
                               .heads = {{"redundancy", {0.5F, shift}}},
                               .scores = {{"score", {1, 2, 3, 4, 5, shift}}}});
        }
        writer.close();
    }
    const TraceReader reader(options.path);
    EXPECT_TRUE(reader.complete());
    EXPECT_EQ(reader.dimensions().layers, 2);
    EXPECT_EQ(reader.dimensions().tokens, 3);
    EXPECT_EQ(reader.dimensions().headDim, 0);
    EXPECT_EQ(reader.headMetric("redundancy"), (std::vector<float>{0.5F, 0, 0.5F, 1}));
    EXPECT_EQ(reader.scores("score", 1, 1), (std::vector<float>{4, 5, 1}));
    EXPECT_NE(messageOf([&] { reader.layerKeys(0); }).find("no dataset /tensors/keys"),
              std::string::npos);
    EXPECT_FALSE(reader.rotation());
}

TEST(TraceWriter, aReaderOfAnotherTraceMayWorkMeanwhile) { // F133
    const test::TemporaryFolder folder;
    const TraceReader reader(test::writeSampleTrace(folder / "shown.ecokv.h5"));
    std::thread scrolling([&] {
        for (int i = 0; i < 300; ++i) {
            ASSERT_EQ(reader.keys(i % 4, i % 2).at(8), test::sampleKey(i % 4, i % 2, 1, 0));
            ASSERT_FALSE(reader.entries().empty());
        }
    });
    for (int i = 0; i < 5; ++i) {
        test::writeSampleTrace(folder / "new.ecokv.h5");
    }
    scrolling.join();
    EXPECT_EQ(TraceReader(folder / "new.ecokv.h5").keys(3, 1).at(0), test::sampleKey(3, 1, 0, 0));
}

} // namespace ecokv::trace
