// SPDX-License-Identifier: GPL-3.0-or-later
// Field cases F126, F127, F128: long texts, wide tables, names in any script.
#include "support/sample_trace.h"
#include "trace/hdf5/attributes.h"
#include "trace/hdf5/datasets.h"
#include "trace/open_files.h"
#include "trace/trace_reader.h"

#include <gtest/gtest.h>

namespace ecokv::trace {

TEST(LongText, ofAnyLengthComesBackWhole) { // F126
    for (const std::size_t length : {60'000U, 60'001U, 65'535U, 65'536U, 70'000U}) {
        const test::TemporaryFolder folder;
        const std::string text(length, 'x');
        {
            TraceWriter writer(test::sampleWriterOptions(folder / "a.ecokv.h5"));
            writer.writeModel({{{"system_prompt", text}, {"name", std::string("m")}}, text});
            auto prompt = test::samplePrompt();
            prompt.text = text;
            prompt.tokenText[3] = text;
            writer.writePrompt(prompt);
            writer.close();
        }
        const TraceReader reader(folder / "a.ecokv.h5");
        const auto model = reader.model();
        ASSERT_EQ(model->attributes.size(), 2U) << length;
        EXPECT_EQ(std::get<std::string>(model->attributes.at("system_prompt")), text);
        EXPECT_EQ(model->configJson, text);
        EXPECT_EQ(reader.prompt()->text, text);
        EXPECT_EQ(reader.prompt()->tokenText[3], text);
    }
}

TEST(LongText, isReadFromAnAttributeOfAnotherWriterToo) { // F126
    const test::TemporaryFolder folder;
    const auto path = test::writeSampleTrace(folder / "a.ecokv.h5");
    {
        const LibraryLock lock;
        const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
        ASSERT_GE(H5Ldelete(file.get(), "model/config_json", H5P_DEFAULT), 0);
        writeText(openGroup(file.get(), "model").get(), "config_json", "{}");
    }
    EXPECT_EQ(TraceReader(path).model()->configJson, "{}");
}

TEST(LongText, aTokenWithANulByteKeepsTheBytesAfterIt) {
    const test::TemporaryFolder folder;
    {
        TraceWriter writer(test::sampleWriterOptions(folder / "a.ecokv.h5"));
        auto prompt = test::samplePrompt();
        prompt.tokenText[2] = std::string("a\0b", 3);
        prompt.tokenText[3] = "\xE2\x82"; // half a character, as byte-level tokens are
        writer.writePrompt(prompt);
        writer.close();
    }
    const auto prompt = TraceReader(folder / "a.ecokv.h5").prompt();
    EXPECT_EQ(prompt->tokenText[2], "a\xE2\x90\x80"
                                    "b");
    EXPECT_EQ(prompt->tokenText[3], "\xE2\x82");
}

TEST(WideTable, of1300HeadsComesBack) { // F127
    const test::TemporaryFolder folder;
    test::SampleOptions options;
    options.dimensions = {1, 1300, 1300, 420, 1, 1};
    options.recordValues = false;
    const TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5", options));
    const auto redundancy = reader.headMetric("redundancy");
    ASSERT_EQ(redundancy.size(), 1300U);
    EXPECT_EQ(redundancy[1299], test::sampleRedundancy(0, 1299));
}

TEST(WideTable, of4200TextsComesBack) { // F127
    const test::TemporaryFolder folder;
    test::SampleOptions options;
    options.dimensions = {1, 1, 1, 4200, 1, 1};
    const TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5", options));
    ASSERT_EQ(reader.prompt()->tokenText.size(), 4200U);
    EXPECT_EQ(reader.prompt()->tokenText[4199], "w4199");
}

TEST(FileName, inAnyScriptIsTheNameOnDisk) { // F128
    const test::TemporaryFolder folder;
    const auto inner = folder / "\xE6\xB5\x8B\xE8\xAF\x95 \xC3\xA9"; // 测试 é
    std::filesystem::create_directory(inner);
    const auto path = inner / "\xC3\xBC.ecokv.h5"; // ü
    test::writeSampleTrace(path);
    ASSERT_TRUE(std::filesystem::exists(path));
    EXPECT_EQ(TraceReader(path).path(), path);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(inner), {}), 1); // no .part left
}

} // namespace ecokv::trace
