// SPDX-License-Identifier: GPL-3.0-or-later
// Saved caches: bit for bit there and back, and everything else refused with a sentence.
#include "trace/cache_file.h"

#include "base/error.h"
#include "base/float_convert.h"
#include "support/sample_trace.h"
#include "trace/trace_reader.h"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstring>
#include <fstream>
#include <functional>

namespace ecokv::trace {

namespace {

using test::TemporaryFolder;
namespace fs = std::filesystem;

constexpr std::int64_t kLayers = 2, kHeads = 4, kKvHeads = 2, kDim = 3;

CacheRecord sampleRecord() {
    CacheRecord record;
    record.layers = kLayers;
    record.heads = kHeads;
    record.kvHeads = kKvHeads;
    record.headDim = kDim;
    record.dtype = DType::BF16;
    record.tokensSeen = 30;
    record.imageTokens = 12;
    record.probe = {0.5F, -2.0F};
    record.model = {{"name", std::string("sample")}, {"config_sha256", std::string("abc")}};
    record.policy = {{"policy", std::string("ecokv")}, {"budget", std::int64_t{5}}};
    record.producer = "ecokv test";
    record.promptText = "<image>\nQ: Ü";
    record.tokenIds = {256, 258, 10, 81};
    record.questionTail = "\nA: ";
    return record;
}

/// `count` bf16 numbers first, first + 1, ...; one NaN with a payload that no conversion keeps.
std::vector<std::byte> bits(std::int64_t count, float first) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(2 * count));
    for (std::int64_t i = 0; i < count; ++i) {
        std::uint16_t half = floatToBf16(first + static_cast<float>(i));
        half = i == 2 ? 0x7F81 : half;
        std::memcpy(bytes.data() + 2 * i, &half, 2);
    }
    return bytes;
}

/// Heads of 3 and 1 rows in layer 0; of 0 and 2 in layer 1, which has no query rows.
CacheLayer sampleLayer(std::int64_t index) {
    CacheLayer layer;
    layer.positions = index == 0 ? std::vector<std::vector<std::int64_t>>{{0, 7, 29}, {12}}
                                 : std::vector<std::vector<std::int64_t>>{{}, {28, 29}};
    layer.keys = bits(layer.rows() * kDim, 1.0F + static_cast<float>(index));
    layer.values = bits(layer.rows() * kDim, -7.0F);
    if (index == 0) {
        layer.windowPositions = {28, 29};
        layer.windowQueries = bits(2 * kHeads * kDim, 0.5F);
    }
    return layer;
}

fs::path writeSample(const fs::path& path) {
    writeCacheFile(path, sampleRecord(), sampleLayer);
    return path;
}

/// What refuses the file; "" if it is read whole.
std::string problemOf(const fs::path& path) {
    try {
        const CacheFileReader reader(path);
        for (std::int64_t layer = 0; layer < reader.record().layers; ++layer) {
            (void)reader.layer(layer);
        }
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput) << error.what();
        return error.message();
    }
    return {};
}

/// Opens the file with plain HDF5 and changes it.
void damage(const fs::path& path, const std::function<void(hid_t)>& change) {
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(file, 0);
    change(file);
    H5Fclose(file);
}

void overwriteIntegers(hid_t file, const char* dataset, std::vector<std::int64_t> values) {
    const hid_t id = H5Dopen2(file, dataset, H5P_DEFAULT);
    ASSERT_GE(H5Dwrite(id, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    H5Dclose(id);
}

} // namespace

TEST(CacheFile, everyBitComesBack) {
    const TemporaryFolder folder;
    const CacheFileReader reader(writeSample(folder / "a.cache.h5"));
    const CacheRecord& record = reader.record();
    EXPECT_EQ(record.layers, kLayers);
    EXPECT_EQ(record.heads, kHeads);
    EXPECT_EQ(record.kvHeads, kKvHeads);
    EXPECT_EQ(record.headDim, kDim);
    EXPECT_EQ(record.dtype, DType::BF16);
    EXPECT_EQ(record.tokensSeen, 30);
    EXPECT_EQ(record.imageTokens, 12);
    EXPECT_EQ(record.model, sampleRecord().model);
    EXPECT_EQ(record.policy, sampleRecord().policy);
    EXPECT_EQ(record.probe, (std::vector<float>{0.5F, -2.0F}));
    EXPECT_EQ(record.producer, "ecokv test");
    EXPECT_EQ(record.promptText, "<image>\nQ: Ü");
    EXPECT_EQ(record.tokenIds, (std::vector<std::int64_t>{256, 258, 10, 81}));
    EXPECT_EQ(record.questionTail, "\nA: ");
    for (std::int64_t index = 0; index < kLayers; ++index) {
        const CacheLayer layer = reader.layer(index), wanted = sampleLayer(index);
        EXPECT_EQ(layer.positions, wanted.positions);
        EXPECT_EQ(layer.keys, wanted.keys);
        EXPECT_EQ(layer.values, wanted.values);
        EXPECT_EQ(layer.windowPositions, wanted.windowPositions);
        EXPECT_EQ(layer.windowQueries, wanted.windowQueries);
    }
    EXPECT_FALSE(fs::exists(folder / "a.cache.h5.part"));
}

TEST(CacheFile, tellsItselfFromATrace) {
    const TemporaryFolder folder;
    const fs::path cache = writeSample(folder / "a.cache.h5");
    const fs::path trace = test::writeSampleTrace(folder / "t.ecokv.h5");
    EXPECT_TRUE(isCacheFile(cache));
    EXPECT_FALSE(isCacheFile(trace));
    EXPECT_FALSE(isCacheFile(folder / "nothing"));
    EXPECT_NE(problemOf(trace).find("is not a saved cache but has schema ecokv-trace"),
              std::string::npos)
        << problemOf(trace);
    EXPECT_THROW(TraceReader{cache}, Error);
}

TEST(CacheFile, aFailureLeavesNeitherFileNorPart) {
    const TemporaryFolder folder;
    const auto fails = [](std::int64_t index) {
        if (index == 1) {
            throwBadInput("the layer was lost");
        }
        return sampleLayer(index);
    };
    EXPECT_THROW(writeCacheFile(folder / "a.h5", sampleRecord(), fails), Error);
    EXPECT_TRUE(fs::is_empty(folder.path()));
    EXPECT_THROW(writeCacheFile(folder / "no/such/a.h5", sampleRecord(), sampleLayer), Error);
}

TEST(CacheFile, cutForeignAndMissingFilesAreSentences) {
    const TemporaryFolder folder;
    const fs::path cut = writeSample(folder / "cut.h5");
    fs::resize_file(cut, fs::file_size(cut) - 100);
    EXPECT_NE(problemOf(cut).find("is incomplete"), std::string::npos) << problemOf(cut);
    const fs::path text = folder / "text.h5";
    std::ofstream(text) << "not HDF5";
    EXPECT_NE(problemOf(text).find("not an HDF5 file"), std::string::npos) << problemOf(text);
    EXPECT_NE(problemOf(folder / "none.h5").find("does not exist"), std::string::npos);
}

TEST(CacheFile, oneChangedBitIsASentence) { // it would be another answer, without a word
    const TemporaryFolder folder;
    for (const char* name : {"keys", "values", "window_queries"}) {
        const fs::path path = writeSample(folder / "x.h5");
        haddr_t offset = 0;
        damage(path, [&](hid_t file) {
            const hid_t dataset = H5Dopen2(file, (std::string("cache/0/") + name).c_str(), {});
            offset = H5Dget_offset(dataset);
            H5Dclose(dataset);
        });
        ASSERT_EQ(problemOf(path), "");
        std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
        bytes.seekg(static_cast<std::streamoff>(offset) + 9);
        const int byte = bytes.peek();
        bytes.seekp(static_cast<std::streamoff>(offset) + 9);
        bytes.put(static_cast<char>(byte ^ 4));
        bytes.close();
        EXPECT_EQ(problemOf(path), "/cache/0 in " + path.string() +
                                       " is damaged: its numbers are not those that were saved.");
    }
    const fs::path path = writeSample(folder / "x.h5");
    damage(path, [](hid_t file) { // possible positions, but not those that were saved
        overwriteIntegers(file, "cache/0/positions", {0, 8, 29, 12});
    });
    EXPECT_NE(problemOf(path).find("/cache/0"), std::string::npos) << problemOf(path);
}

TEST(CacheFile, contradictionsInsideAreSentences) {
    const TemporaryFolder folder;
    const auto problemAfter = [&](const std::function<void(hid_t)>& change) {
        const fs::path path = writeSample(folder / "x.h5");
        damage(path, change);
        return problemOf(path);
    };
    const auto has = [](const std::string& text, const char* words) {
        return text.find(words) != std::string::npos;
    };
    std::string problem = problemAfter([](hid_t file) {
        overwriteIntegers(file, "cache/0/positions", {0, 7, 30, 12});
    });
    EXPECT_TRUE(has(problem, "30 tokens that were seen")) << problem;
    problem = problemAfter([](hid_t file) {
        overwriteIntegers(file, "cache/0/positions", {7, 7, 29, 12});
    });
    EXPECT_TRUE(has(problem, "not ascending")) << problem;
    problem = problemAfter([](hid_t file) { overwriteIntegers(file, "cache/0/lengths", {3, 2}); });
    EXPECT_TRUE(has(problem, "contradict")) << problem;
    problem = problemAfter([](hid_t file) { overwriteIntegers(file, "cache/0/lengths", {-1, 5}); });
    EXPECT_TRUE(has(problem, "contradict")) << problem;
    problem = problemAfter([](hid_t file) { H5Ldelete(file, "cache/1/values", H5P_DEFAULT); });
    EXPECT_TRUE(has(problem, "values")) << problem;
    problem = problemAfter([](hid_t file) {
        H5Ldelete(file, "cache/1", H5P_DEFAULT);
        H5Lcreate_hard(file, "cache/0", file, "cache/1/", H5P_DEFAULT, H5P_DEFAULT);
        H5Ldelete(file, "cache/0/keys", H5P_DEFAULT);
        H5Lcreate_hard(file, "cache/0/window_queries", file, "cache/0/keys", H5P_DEFAULT,
                       H5P_DEFAULT);
    });
    EXPECT_TRUE(has(problem, "instead of [4, 3]")) << problem;
    const auto setInteger = [](hid_t file, const char* group, const char* name,
                               std::int64_t value) {
        const hid_t object = H5Oopen(file, group, H5P_DEFAULT);
        H5Adelete(object, name);
        const hid_t space = H5Screate(H5S_SCALAR);
        const hid_t attribute =
            H5Acreate2(object, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
        ASSERT_GE(H5Awrite(attribute, H5T_NATIVE_INT64, &value), 0) << name;
        H5Aclose(attribute);
        H5Sclose(space);
        H5Oclose(object);
    };
    problem = problemAfter([&](hid_t file) { setInteger(file, "/", "schema_version", 2); });
    EXPECT_TRUE(has(problem, "up to version 1")) << problem;
    problem = problemAfter([&](hid_t file) { setInteger(file, "/", "complete", 0); });
    EXPECT_TRUE(has(problem, "unfinished")) << problem;
    problem = problemAfter([&](hid_t file) { setInteger(file, "cache", "layers", 1LL << 40); });
    EXPECT_TRUE(has(problem, "layers = 1099511627776")) << problem;
}

} // namespace ecokv::trace
