// SPDX-License-Identifier: GPL-3.0-or-later
// Whole layers as stored, and where their rows stand: what replay computes from.
#include "base/error.h"
#include "base/float_convert.h"
#include "support/foreign_file.h"
#include "support/sample_trace.h"
#include "trace/trace_reader.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ecokv::trace {

namespace {

template <class Read> std::string refusalOf(Read read) {
    try {
        read();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        return error.message();
    }
    return {};
}

} // namespace

TEST(RawTensor, ofABf16TraceKeepsItsBits) {
    const test::TemporaryFolder folder;
    const auto path = test::writeSampleTrace(folder / "a.ecokv.h5", {.storage = DType::BF16});
    const TraceReader reader(path);
    const RawTensor keys = reader.layerKeys(3);
    ASSERT_EQ(keys.view().dtype, DType::BF16);
    EXPECT_EQ(keys.view().describe(), "bfloat16 [2, 30, 8] on cpu");
    EXPECT_EQ(keys.bytes(), 2U * 30 * 8 * 2);
    const auto* bits = keys.view().as<const std::uint16_t>();
    for (std::int64_t token = 0; token < 30; ++token) {
        EXPECT_EQ(bits[(30 + token) * 8 + 5], floatToBf16(test::sampleKey(3, 1, token, 5)));
    }
}

TEST(RawTensor, ofF32AndF16TracesKeepsTheirNumbers) {
    for (const DType storage : {DType::F32, DType::F16}) {
        const test::TemporaryFolder folder;
        const auto path = test::writeSampleTrace(folder / "a.ecokv.h5", {.storage = storage});
        const TraceReader reader(path);
        const RawTensor queries = reader.layerWindowQueries(1);
        ASSERT_EQ(queries.view().dtype, storage);
        EXPECT_EQ(queries.view().shape[0], 4);
        EXPECT_EQ(queries.view().shape[1], 6);
        const float expected = test::sampleQuery(1, 2, 4, 7);
        const std::int64_t at = (2 * 6 + 4) * 8 + 7;
        if (storage == DType::F32) {
            EXPECT_EQ(queries.view().as<const float>()[at], expected);
        } else {
            EXPECT_EQ(queries.view().as<const std::uint16_t>()[at], floatToF16(expected));
        }
    }
}

TEST(RawTensor, ofOtherNumberTypesIsFloat32) {
    const test::TemporaryFolder folder;
    {
        test::ForeignFile file(folder / "a.h5");
        file.add("tensors/keys", {2, 3, 10, 4});                          // float64
        file.add("tensors/window_queries", {2, 6, 5, 4}, H5T_IEEE_F32BE); // big-endian
        file.add("tensors/values", {2, 3, 10, 4}, H5T_STD_I16LE);         // integers
        file.addIntegers("tensors/positions", {0, 1, 2, 3, 4, 5, 6, 7, 8, 90});
    }
    const TraceReader reader(folder / "a.h5");
    const RawTensor keys = reader.layerKeys(1);
    ASSERT_EQ(keys.view().dtype, DType::F32);
    EXPECT_EQ(keys.view().as<const float>()[0], 120.0F); // layer 1 begins at 3 * 10 * 4
    EXPECT_EQ(reader.layerWindowQueries(1).view().as<const float>()[119], 239.0F);
    EXPECT_EQ(reader.layerValues(0).view().as<const float>()[119], 119.0F);
    EXPECT_EQ(reader.positions().back(), 90);
    EXPECT_TRUE(reader.has("tensors/values"));
    EXPECT_FALSE(reader.has("scores/score"));
}

TEST(RawTensor, ofALayerThatIsNotThereIsRefused) {
    const test::TemporaryFolder folder;
    const auto path = test::writeSampleTrace(folder / "a.ecokv.h5", {.recordValues = false});
    const TraceReader reader(path);
    EXPECT_THROW(reader.layerKeys(4), Error);
    EXPECT_NE(refusalOf([&] { reader.layerValues(0); }).find("no dataset /tensors/values"),
              std::string::npos);
}

TEST(RawTensor, isReadByTwoReadersOfOneFileAtOnce) {
    const test::TemporaryFolder folder;
    const auto path = test::writeSampleTrace(folder / "a.ecokv.h5");
    const TraceReader shown(path); // as the desktop holds it
    const TraceReader replayed(path);
    EXPECT_EQ(replayed.layerKeys(2).view().as<const float>()[8], test::sampleKey(2, 0, 1, 0));
    EXPECT_EQ(shown.layerKeys(2).view().as<const float>()[8], test::sampleKey(2, 0, 1, 0));
}

TEST(Positions, ofAWrongLengthAreRefusedNotReplaced) {
    const test::TemporaryFolder folder;
    {
        test::ForeignFile file(folder / "a.h5");
        file.add("tensors/keys", {1, 1, 4, 2});
        file.add("tensors/window_queries", {1, 1, 2, 2});
        file.addIntegers("tensors/positions", {0, 1, 2});
        file.addIntegers("tensors/window_positions", {1, 2, 3});
    }
    const TraceReader reader(folder / "a.h5");
    EXPECT_NE(refusalOf([&] { reader.positions(); }).find("has shape [3]; [4] was expected"),
              std::string::npos);
    EXPECT_NE(refusalOf([&] { reader.windowPositions(); }).find("has shape [3]; [2] was expected"),
              std::string::npos);
}

TEST(Rotation, ofAForeignFileFollowsFromItsTheta) {
    const test::TemporaryFolder folder;
    {
        test::ForeignFile file(folder / "a.h5");
        const Handle keys = file.add("tensors/keys", {1, 1, 4, 8});
        file.add("tensors/window_queries", {1, 1, 1, 8});
        writeInteger(keys.get(), "rope_theta", 10000); // h5py writes a Python int as an integer
        writeFixedText(keys.get(), "rope_style", "interleaved");
    }
    const auto rotation = TraceReader(folder / "a.h5").rotation();
    ASSERT_TRUE(rotation);
    EXPECT_TRUE(rotation->interleaved);
    ASSERT_EQ(rotation->ropes.at(0).inverseFrequencies.size(), 4U);
    EXPECT_FLOAT_EQ(rotation->ropes.at(0).inverseFrequencies[1], 0.1F); // 10000^(-2/8)
    EXPECT_FLOAT_EQ(rotation->ropes.at(0).inverseFrequencies[3], 0.001F);
}

TEST(Rotation, isUnknownWhereTheFileDoesNotSayAndRefusedWhereItIsNonsense) {
    const test::TemporaryFolder folder;
    {
        test::ForeignFile file(folder / "a.h5");
        const Handle keys = file.add("tensors/keys", {1, 1, 4, 2});
        file.add("tensors/window_queries", {1, 1, 1, 2});
    }
    EXPECT_FALSE(TraceReader(folder / "a.h5").rotation());
    {
        test::ForeignFile file(folder / "b.h5");
        const Handle keys = file.add("tensors/keys", {1, 1, 4, 2});
        file.add("tensors/window_queries", {1, 1, 1, 2});
        writeNumber(keys.get(), "rope_theta", -1.0);
        writeFixedText(keys.get(), "rope_style", "half");
    }
    const TraceReader reader(folder / "b.h5");
    EXPECT_NE(refusalOf([&] { reader.rotation(); }).find("rope_theta"), std::string::npos);
}

TEST(Rotation, ofAStretchedModelIsWhatTheRunRecorded) {
    const test::TemporaryFolder folder;
    const auto path = folder / "a.ecokv.h5";
    const std::vector<float> stretched{1.0F, 0.25F, 0.03125F, 0.001953125F};
    {
        const test::SampleOptions options;
        TraceWriter writer(test::sampleWriterOptions(path, options));
        writer.writeModel({{{"rope_theta", 10000.0}, {"rope_style", std::string("half")}},
                           R"({"rope_scaling": {"rope_type": "llama3"}})",
                           {{stretched, {}}}});
        for (std::int64_t layer = 0; layer < options.dimensions.layers; ++layer) {
            test::writeSampleLayer(writer, options, layer);
        }
        writer.close();
    }
    const auto rotation = TraceReader(path).rotation();
    ASSERT_TRUE(rotation);
    EXPECT_FALSE(rotation->interleaved);
    EXPECT_EQ(rotation->ropes.at(0).inverseFrequencies, stretched);
}

} // namespace ecokv::trace
