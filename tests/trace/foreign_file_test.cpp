// SPDX-License-Identifier: GPL-3.0-or-later
// Files of other writers: only tensors, other number types, missing filters, newer schemas.
#include "base/error.h"
#include "support/foreign_file.h"
#include "support/sample_trace.h"
#include "trace/hdf5/attributes.h"
#include "trace/hdf5/datasets.h"
#include "trace/trace_reader.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ecokv::trace {

namespace {

namespace fs = std::filesystem;
using Shape = std::vector<std::int64_t>;
using test::ForeignFile;

std::string refusalOf(const fs::path& path) {
    try {
        const TraceReader reader(path);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        return error.message();
    }
    return {};
}

/// A file with an external link. Made before the first LibraryLock, which takes the means away.
class LinkedFile : public testing::Environment {
public:
    void SetUp() override {
        const auto path = folder / "link.h5";
        const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                          H5Fclose);
        H5Gclose(H5Gcreate2(file.get(), "tensors", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        ASSERT_GE(H5Lcreate_external("secret.ecokv.h5", "/tensors/keys", file.get(), "tensors/keys",
                                     H5P_DEFAULT, H5P_DEFAULT),
                  0);
    }

    test::TemporaryFolder folder;
};

LinkedFile* const g_linkedFile =
    static_cast<LinkedFile*>(testing::AddGlobalTestEnvironment(new LinkedFile));

bool contains(const std::vector<std::string>& sentences, const std::string& words) {
    return std::any_of(sentences.begin(), sentences.end(), [&](const std::string& sentence) {
        return sentence.find(words) != std::string::npos;
    });
}

} // namespace

TEST(ForeignFile, withKeysAndQueriesOnlyIsEnough) {
    const test::TemporaryFolder folder;
    {
        ForeignFile file(folder / "a.h5");
        file.add("tensors/keys", {2, 3, 10, 4});
        file.add("tensors/window_queries", {2, 6, 5, 4}, H5T_IEEE_F32BE);
    }
    const TraceReader reader(folder / "a.h5");
    const Dimensions& d = reader.dimensions();
    EXPECT_EQ(d.layers, 2);
    EXPECT_EQ(d.kvHeads, 3);
    EXPECT_EQ(d.heads, 6);
    EXPECT_EQ(d.tokens, 10);
    EXPECT_EQ(d.headDim, 4);
    EXPECT_EQ(d.window, 5);
    EXPECT_TRUE(reader.complete());
    EXPECT_EQ(reader.keys(1, 2).front(), 200.0F); // (1 * 3 + 2) * 40
    EXPECT_EQ(reader.windowQueries(1, 5).back(), 239.0F);
    EXPECT_EQ(reader.windowPositions(), (std::vector<std::int64_t>{5, 6, 7, 8, 9}));
    EXPECT_FALSE(reader.model());
    EXPECT_FALSE(reader.prompt());
    EXPECT_FALSE(reader.decode());
    EXPECT_TRUE(reader.images().empty());
    EXPECT_TRUE(reader.policyIds().empty());
    EXPECT_TRUE(reader.headMetrics().empty());
    EXPECT_THROW(reader.values(0, 0), Error);
}

TEST(ForeignFile, mayGiveTheRotationBesideItsKeys) {
    const test::TemporaryFolder folder;
    {
        ForeignFile file(folder / "a.h5");
        const Handle keys = file.add("tensors/keys", {1, 1, 4, 2});
        file.add("tensors/window_queries", {1, 1, 1, 2});
        writeNumber(keys.get(), "rope_theta", 500000.0);
        writeFixedText(keys.get(), "rope_style", "interleaved");
    }
    const auto model = TraceReader(folder / "a.h5").model();
    ASSERT_TRUE(model);
    EXPECT_EQ(std::get<double>(model->attributes.at("rope_theta")), 500000.0);
    EXPECT_EQ(std::get<std::string>(model->attributes.at("rope_style")), "interleaved");
}

TEST(ForeignFile, withoutQueriesOpensAndSaysWhatCannotBeDone) {
    const test::TemporaryFolder folder;
    {
        ForeignFile file(folder / "a.h5");
        file.add("tensors/keys", {1, 1, 4, 2});
    }
    const TraceReader reader(folder / "a.h5");
    EXPECT_TRUE(contains(reader.problems(), "/tensors/window_queries is missing"));
    EXPECT_EQ(reader.keys(0, 0).size(), 8U);
    EXPECT_THROW(reader.windowQueries(0, 0), Error);
}

TEST(ForeignFile, thatIsNoTraceIsRefusedWithWhatATraceNeeds) {
    const test::TemporaryFolder folder;
    { ForeignFile file(folder / "a.h5"); }
    EXPECT_NE(refusalOf(folder / "a.h5").find("is not a trace: it has no dataset /tensors/keys"),
              std::string::npos);
}

TEST(ForeignFile, ofShapesThatContradictEachOtherIsRefused) {
    const test::TemporaryFolder folder;
    const auto refusal = [&](const Shape& keys, const Shape& queries) {
        {
            ForeignFile file(folder / "a.h5");
            file.add("tensors/keys", keys);
            file.add("tensors/window_queries", queries);
        }
        return refusalOf(folder / "a.h5");
    };
    EXPECT_NE(refusal({2, 10, 4}, {2, 2, 5, 4}).find("has shape [2, 10, 4]"), std::string::npos);
    EXPECT_NE(refusal({2, 0, 10, 4}, {2, 2, 5, 4}).find("has shape"), std::string::npos);
    EXPECT_NE(refusal({2, 2, 10, 4}, {3, 2, 5, 4}).find("/tensors/window_queries"),
              std::string::npos);
    EXPECT_NE(refusal({2, 2, 10, 4}, {2, 3, 5, 4}).find("a multiple of 2"), std::string::npos);
    EXPECT_NE(refusal({2, 2, 10, 4}, {2, 2, 11, 4}).find("at most 10"), std::string::npos);
}

TEST(ForeignFile, ofANewerSchemaIsRefusedWithASentence) {
    const test::TemporaryFolder folder;
    const auto path = test::writeSampleTrace(folder / "a.ecokv.h5");
    {
        const LibraryLock lock;
        const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
        writeInteger(file.get(), "schema_version", kSchemaVersion + 1);
    }
    const auto message = refusalOf(path);
    EXPECT_NE(message.find("has schema version 2; this program reads up to version 1."),
              std::string::npos)
        << message;
}

TEST(ForeignFile, aDatasetOfAnAbsentFilterIsMarkedAndTheRestIsRead) { // F130
    const test::TemporaryFolder folder;
    {
        ForeignFile file(folder / "a.h5");
        file.add("tensors/keys", {1, 1, 4, 2});
        file.add("tensors/window_queries", {1, 1, 1, 2});
        const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        const hsize_t shape[4] = {1, 1, 4, 2};
        H5Pset_chunk(properties.get(), 4, shape);
        H5Pset_filter(properties.get(), 32001, H5Z_FLAG_OPTIONAL, 0, nullptr); // Blosc
        const Handle space(H5Screate_simple(4, shape, nullptr), H5Sclose);
        const Handle values(H5Dcreate2(file.get(), "tensors/values", H5T_IEEE_F32LE, space.get(),
                                       H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                            H5Dclose);
        const hsize_t offset[4] = {};
        const char compressed[12] = "not floats";
        ASSERT_GE(
            H5Dwrite_chunk(values.get(), H5P_DEFAULT, 0, offset, sizeof compressed, compressed), 0);
    }
    const TraceReader reader(folder / "a.h5");
    EXPECT_TRUE(contains(reader.problems(), "filter 32001"));
    EXPECT_EQ(reader.keys(0, 0).at(7), 7.0F);
    for (const auto& entry : reader.entries()) {
        EXPECT_EQ(!entry.problem.empty(), entry.path == "/tensors/values") << entry.path;
    }
    try {
        reader.values(0, 0);
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(error.message().find("filter 32001"), std::string::npos) << error.message();
    }
}

TEST(ForeignFile, cannotMakeUsFollowALinkIntoAnotherFile) {
    const auto path = g_linkedFile->folder / "link.h5";
    test::writeSampleTrace(g_linkedFile->folder / "secret.ecokv.h5");
    EXPECT_NE(refusalOf(path).find("no dataset /tensors/keys"), std::string::npos);
}

TEST(ForeignFile, cannotMakeUsReadRawBytesOfAnotherFile) {
    const test::TemporaryFolder folder;
    const auto secret = test::writeSampleTrace(folder / "secret.ecokv.h5");
    {
        ForeignFile file(folder / "raw.h5");
        const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        const hsize_t shape[4] = {1, 1, 4, 2};
        H5Pset_external(properties.get(), secret.c_str(), 0, 32);
        const Handle space(H5Screate_simple(4, shape, nullptr), H5Sclose);
        const Handle keys(H5Dcreate2(file.get(), "tensors/keys", H5T_IEEE_F32LE, space.get(),
                                     H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                          H5Dclose);
    }
    const TraceReader reader(folder / "raw.h5");
    EXPECT_TRUE(contains(reader.problems(), "lie in other files"));
    EXPECT_THROW(reader.keys(0, 0), Error);
}

} // namespace ecokv::trace
