// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/json_file.h"
#include "model/weights/checkpoint.h"
#include "model/weights/foreign_files.h"
#include "model/weights/safetensors.h"

#include "refusal.h"
#include "temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

namespace ecokv::model {

namespace {

std::string lengthBytes(std::uint64_t length) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) {
        bytes += static_cast<char>(length >> (8 * i) & 0xff);
    }
    return bytes;
}

/// A file with this header and this much data.
std::string fileOf(const std::string& header, const std::string& data) {
    return lengthBytes(header.size()) + header + data;
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
    return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape,
                       offsets);
}

std::string braced(const std::string& entries) {
    return fmt::format("{{{}}}", entries);
}

std::string refusalOf(const std::string& bytes) {
    const TemporaryFolder folder;
    const auto path = folder.write("model.safetensors", bytes);
    const std::string said = refusal([&] { SafetensorsFile::open(path); });
    EXPECT_SAYS(said, "model.safetensors");
    return said;
}

std::string floats(std::initializer_list<float> values) {
    std::string bytes;
    for (const float value : values) {
        char raw[sizeof value];
        std::memcpy(raw, &value, sizeof value);
        bytes.append(raw, sizeof value);
    }
    return bytes;
}

std::string oneTensor(const std::string& name, float value) {
    return fileOf(braced(entry(name, "F32", "[1]", "[0,4]")), floats({value}));
}

const char* const kIndex = "model.safetensors.index.json";

std::string indexOf(std::initializer_list<std::pair<const char*, const char*>> entries) {
    std::string map;
    for (const auto& [tensor, shard] : entries) {
        map += fmt::format(R"({}"{}":"{}")", map.empty() ? "" : ",", tensor, shard);
    }
    return fmt::format(R"({{"weight_map":{{{}}}}})", map);
}

} // namespace

TEST(SafetensorsFile, viewsPointAtTheRightValues) {
    const TemporaryFolder folder;
    const std::string header =
        braced(fmt::format(R"("__metadata__":{{"format":"pt"}},{},{})",
                           entry("b", "F32", "[2,1]", "[8,16]"), entry("a", "I64", "[]", "[0,8]")));
    const std::string data = lengthBytes(42) + floats({1.5F, -2.0F});
    const auto file = SafetensorsFile::open(folder.write("m", fileOf(header, data)));
    ASSERT_EQ(file.tensors().size(), 2U);
    const StoredTensor& a = file.tensors()[0];
    const StoredTensor& b = file.tensors()[1];
    EXPECT_EQ(a.name, "a");
    EXPECT_EQ(a.view().rank, 0U);
    std::int64_t value = 0;
    std::memcpy(&value, a.view().data, sizeof value);
    EXPECT_EQ(value, 42);
    EXPECT_EQ(b.view().describe(), "float32 [2, 1] on cpu");
    float second = 0;
    std::memcpy(&second, b.bytes.data() + 4, sizeof second);
    EXPECT_EQ(second, -2.0F);
}

TEST(SafetensorsFile, refusesImpossibleHeaderLengthsWithoutAllocating) { // F074
    const std::string rest(100, ' ');
    EXPECT_SAYS(refusalOf(std::string(8, '\xff')), "18446744073709551615");
    EXPECT_SAYS(refusalOf(lengthBytes(std::uint64_t{1} << 63) + rest), "claims");
    EXPECT_SAYS(refusalOf(lengthBytes(108) + rest), "but 100 follow");
    EXPECT_SAYS(refusalOf("short"), "only 5 bytes");
    EXPECT_SAYS(refusalOf(""), "only 0 bytes");
}

TEST(SafetensorsFile, recognisesWhatIsOftenSavedUnderItsName) { // F075
    EXPECT_SAYS(refusalOf("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"),
                "git lfs pull");
    EXPECT_SAYS(refusalOf("\n<!DOCTYPE html><html></html>"), "web page");
    EXPECT_SAYS(refusalOf("<HTML><body>login</body></HTML>"), "web page");
    EXPECT_SAYS(refusalOf(std::string("PK\x03\x04") + "archive/data.pkl"), "pickle");
    EXPECT_SAYS(refusalOf(std::string("GGUF\x03\0\0\0", 8)), "a GGUF file under a wrong name");
}

TEST(SafetensorsFile, refusesTruncatedAndTrailingBytes) { // F076
    const std::string whole = oneTensor("w", 1.0F);
    const std::string cut = refusalOf(whole.substr(0, whole.size() - 1));
    EXPECT_SAYS(cut, "ends at byte 4");
    EXPECT_SAYS(cut, "only 3 bytes");
    EXPECT_SAYS(refusalOf(whole + "x"), "holds 5 bytes of data");
}

TEST(SafetensorsFile, refusesOffsetsThatReachOutsideOrOverlap) { // F078
    const std::string data(8, '\0');
    const auto refused = [&](const std::string& entries) {
        return refusalOf(fileOf(braced(entries), data));
    };
    EXPECT_SAYS(refused(entry("w", "F32", "[1]", "[8,4]")), "\"w\" begins at byte 8 behind");
    EXPECT_SAYS(refused(entry("w", "F32", "[3]", "[0,12]")), "\"w\" ends at byte 12");
    EXPECT_SAYS(
        refused(entry("w", "F32", "[2]", "[0,8]") + "," + entry("v", "F32", "[1]", "[4,8]")),
        "begins at byte");
    EXPECT_SAYS(refused(entry("w", "F32", "[1]", "[4,8]")), "begins at byte 4");
    EXPECT_SAYS(refused(entry("w", "F32", "[3]", "[0,8]")), "needs 12 bytes");
    EXPECT_SAYS(refused(entry("w", "F32", "[-2]", "[0,8]")), "impossible shape");
    EXPECT_SAYS(refused(entry("w", "F32", "[4294967296,4294967296,2]", "[0,8]")),
                "impossible shape");
    EXPECT_SAYS(refused(entry("w", "F32", "[2]", "[0]")), "data_offsets");
    EXPECT_SAYS(refusalOf(fileOf("{\"w\": ", data)), "line 1, column");
    EXPECT_SAYS(refusalOf(fileOf("[1]", data)), "not a JSON object");
}

TEST(SafetensorsFile, knowsEveryDtypeAndConvertsOnlyWhatItCan) { // F093
    const TemporaryFolder folder;
    const std::string header = braced(
        entry("a", "BF16", "[2]", "[0,4]") + "," + entry("b", "F16", "[2]", "[4,8]") + "," +
        entry("c", "F64", "[1]", "[8,16]") + "," + entry("d", "BOOL", "[2]", "[16,18]") + "," +
        entry("e", "F8_E4M3", "[2]", "[18,20]") + "," + entry("f", "F4", "[4]", "[20,22]"));
    const auto file =
        SafetensorsFile::open(folder.write("m", fileOf(header, std::string(22, '\0'))));
    EXPECT_EQ(file.tensors()[0].view().dtype, DType::BF16);
    EXPECT_EQ(file.tensors()[1].view().dtype, DType::F16);
    for (std::size_t i = 2; i < 6; ++i) {
        const StoredTensor& tensor = file.tensors()[i];
        const std::string said = refusal([&] { tensor.view(); });
        EXPECT_SAYS(said, fmt::format("\"{}\"", tensor.name));
        EXPECT_SAYS(said, tensor.dtypeName);
    }
    EXPECT_SAYS(refusalOf(fileOf(braced(entry("w", "Q9", "[1]", "[0,1]")), "x")),
                "unknown dtype \"Q9\"");
}

TEST(Checkpoint, listsMissingShards) { // F082
    const TemporaryFolder folder;
    folder.write(kIndex, indexOf({{"a", "s1"}, {"b", "s2"}, {"c", "s3"}}));
    folder.write("s1", oneTensor("a", 1));
    folder.write("s3", oneTensor("c", 3));
    const std::string said = refusal([&] { Checkpoint::open(folder.path()); });
    EXPECT_SAYS(said, "names 3 weight files, of which 1 cannot be found: s2");
}

TEST(Checkpoint, refusesAStaleIndex) { // F083
    const TemporaryFolder folder;
    folder.write("s1", oneTensor("a", 1));
    folder.write("s2", oneTensor("a", 2));
    folder.write(kIndex, indexOf({{"a", "s1"}, {"b", "s2"}}));
    EXPECT_SAYS(refusal([&] { Checkpoint::open(folder.path()); }),
                "a lies in s2, but the index says s1; b is not in s2");
    folder.write("s2", oneTensor("c", 2));
    EXPECT_SAYS(refusal([&] { Checkpoint::open(folder.path()); }),
                "(2): c lies in s2, but the index does not name it; b is not in s2");
    folder.write(kIndex, indexOf({{"a", "s1"}, {"b", "s1"}}));
    EXPECT_SAYS(refusal([&] { Checkpoint::open(folder.path()); }), "b is not in s1");
}

TEST(Checkpoint, takesShardNamesFromTheIndexOnly) { // F084
    const TemporaryFolder folder;
    folder.write("model.safetensors-00001-of-00002.safetensors", oneTensor("a", 1));
    folder.write("odd name", oneTensor("b", 2));
    folder.write(kIndex, indexOf({{"a", "model.safetensors-00001-of-00002.safetensors"},
                                  {"b", "odd name"}}));
    const Checkpoint checkpoint = Checkpoint::open(folder.path());
    EXPECT_EQ(checkpoint.parameters(), 2);
    EXPECT_EQ(checkpoint.storedDType(), DType::F32);
    EXPECT_EQ(checkpoint.tensors().size(), 2U);
    EXPECT_EQ(std::memcmp(checkpoint.require("b").view().data, floats({2.0F}).data(), 4), 0);
}

TEST(Checkpoint, neverLeavesItsFolder) { // F085
    for (const char* name : {"../other/model.safetensors", "/etc/passwd", "a\\\\b", "..", ""}) {
        const TemporaryFolder folder;
        folder.write(kIndex, indexOf({{"a", name}}));
        EXPECT_SAYS(refusal([&] { Checkpoint::open(folder.path()); }), "outside the model folder");
    }
}

TEST(Checkpoint, refusesOtherFormatsWithAdvice) {
    const auto said = [](const char* file, const char* content) {
        const TemporaryFolder folder;
        folder.write(file, content);
        return refusal([&] { Checkpoint::open(folder.path()); });
    };
    const TemporaryFolder empty;
    EXPECT_SAYS(refusal([&] { Checkpoint::open(empty.path()); }), "holds no weights");
    EXPECT_SAYS(said("pytorch_model.bin", "PK"), "as a pickle, which can run code");
    EXPECT_SAYS(said("pytorch_model.bin", "PK"), "(pytorch_model.bin)");
    EXPECT_SAYS(said("pytorch_model.bin", "PK"), "save_pretrained");
    EXPECT_SAYS(said("consolidated.00.PTH", ""), "pickle");
    EXPECT_SAYS(said("model-q4_k.gguf", "GGUF"), "GGUF format, which is not read");
    EXPECT_SAYS(said("model-q4_k.gguf", "GGUF"), "gguf_file=");
}

TEST(Checkpoint, asksForTheIndexThatShardsNeed) { // F084: names are not guessed
    const TemporaryFolder folder;
    folder.write("model-00001-of-00002.safetensors", oneTensor("a", 1));
    folder.write("model-00002-of-00002.safetensors", oneTensor("b", 1));
    const std::string said = refusal([&] { Checkpoint::open(folder.path()); });
    EXPECT_SAYS(said, "model-00001-of-00002.safetensors, model-00002-of-00002.safetensors");
    EXPECT_SAYS(said, "Download model.safetensors.index.json");
}

TEST(ForeignFiles, aFolderIsAskedFor) {
    const auto said = [](const char* file, const char* content, bool ofFile) {
        const TemporaryFolder folder;
        const auto path = folder.write(file, content);
        return refusal([&] { requireModelFolder(ofFile ? path : folder.path()); });
    };
    EXPECT_SAYS(said("a.gguf", "GGUF", true), "GGUF format");
    EXPECT_SAYS(said("a.gguf", "GGUF", false), "has no config.json, and a.gguf holds");
    EXPECT_SAYS(said("a.ckpt", "PK", true), "pickle");
    EXPECT_SAYS(said("model.safetensors", "", true), "is a file, not a folder");
    EXPECT_SAYS(said("notes.txt", "", false), "has no config.json.");
    EXPECT_SAYS(refusal([] { requireModelFolder("/nonexistent/model"); }), "is not a folder");
    const TemporaryFolder model;
    model.write("config.json", "{}");
    requireModelFolder(model.path());
}

TEST(ForeignFiles, jsonFilesThatAreNoneAreNamed) { // F075
    const auto said = [](const std::string& text) {
        return refusal([&] { parseJson(text, "config.json"); });
    };
    const std::string pointer = said("version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    EXPECT_SAYS(pointer, "config.json is a Git LFS pointer");
    EXPECT_SAYS(pointer, "git lfs pull");
    EXPECT_SAYS(said("<!DOCTYPE html><html>"), "config.json is a web page");
    EXPECT_SAYS(said("{\"a\": }"), "line 1, column 7");
}

TEST(Checkpoint, namesSimilarTensorsWhenOneIsMissing) {
    const TemporaryFolder folder;
    folder.write("model.safetensors", oneTensor("old.layers.0.norm.weight", 1));
    const Checkpoint checkpoint = Checkpoint::open(folder.path());
    EXPECT_EQ(checkpoint.find("new.layers.0.norm.weight"), nullptr);
    EXPECT_SAYS(refusal([&] { checkpoint.require("new.layers.0.norm.weight"); }),
                "old.layers.0.norm.weight");
}

} // namespace ecokv::model
