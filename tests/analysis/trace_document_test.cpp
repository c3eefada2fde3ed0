// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/trace_document.h"
#include "base/error.h"
#include "support/sample_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>
#include <tuple>

namespace ecokv::analysis {

TEST(TraceDocument, holdsEverythingThePagesShow) {
    const test::TemporaryFolder folder;
    const auto document = openTrace(test::writeSampleTrace(folder / "a.ecokv.h5"));
    EXPECT_TRUE(document->complete);
    EXPECT_TRUE(document->problems.empty());
    ASSERT_EQ(document->policies.size(), 2U);
    EXPECT_EQ(document->policies[0].name, "ecokv");
    EXPECT_EQ(document->policies[0].title, "ecokv, budget 13, window 6");
    EXPECT_EQ(document->policies[1].title, "streaming, budget 9, window 6");
    ASSERT_TRUE(document->policies[1].decode);
    EXPECT_EQ(document->policies[1].decode->tokenText, (std::vector<std::string>{"4"}));
    ASSERT_TRUE(document->fullDecode);
    EXPECT_EQ(std::get<std::string>(document->fullDecode->attributes.at("answer")), "407");
    EXPECT_EQ(document->images.size(), 1U);
    EXPECT_EQ(document->prompt->tokenIds.at(29), 129);
    EXPECT_EQ(document->provenance(), "sample, prompt of 30 tokens, ecokv budget 13 and 1 more");
    EXPECT_EQ(document->provenance("1"),
              "sample, prompt of 30 tokens, streaming, budget 9, window 6 (1 of 2 policies)");
    EXPECT_EQ(document->provenance("9"), "sample, prompt of 30 tokens");
    TraceDocument compared = *document; // a comparison says whose scores it holds
    compared.run.emplace().attributes["scores_policy"] = std::string("1");
    EXPECT_EQ(compared.provenance(), "sample, prompt of 30 tokens, streaming budget 9 and 1 more");
    EXPECT_EQ(std::get<std::string>(document->root.at("schema")), "ecokv-trace");
}

// A comparison holds the same policy with other settings, and says whose scores were recorded.
TEST(TraceDocument, policiesOfAComparisonAreToldApart) {
    const test::TemporaryFolder folder;
    {
        trace::TraceWriter writer(test::sampleWriterOptions(folder / "a.ecokv.h5"));
        for (std::int64_t layer = 0; layer < 4; ++layer) {
            test::writeSampleLayer(writer, {}, layer);
        }
        trace::PolicyRecord policy;
        policy.kept.assign(4 * 2 * 30, 1);
        policy.budgetPerHead.assign(4 * 2, 30);
        for (const auto& [id, geometry, budget] :
             {std::tuple{"0", "post", 16}, {"1", "pre", 16}, {"2", "post", 24}}) {
            policy.id = id;
            policy.attributes = {{"policy", std::string("ecokv")},
                                 {"budget", std::int64_t{budget}},
                                 {"geometry", std::string(geometry)},
                                 {"recent", std::int64_t{4}}};
            writer.writePolicy(policy);
        }
        trace::RunRecord run;
        run.attributes = {{"scores_policy", std::string("2")}};
        writer.writeRun(run);
        writer.close();
    }
    const auto document = openTrace(folder / "a.ecokv.h5");
    ASSERT_EQ(document->policies.size(), 3U);
    EXPECT_EQ(document->policies[0].title, "ecokv, budget 16, post");
    EXPECT_EQ(document->policies[1].title, "ecokv, budget 16, pre");
    EXPECT_EQ(document->policies[2].title, "ecokv, budget 24");
    EXPECT_EQ(document->mainPolicy(), "2");
    TraceDocument older = *document; // "full" in front evicts nothing and has no scores
    older.run.reset();
    older.policies[0].name = "full";
    EXPECT_EQ(older.mainPolicy(), "1");
    EXPECT_EQ(openTrace(test::writeSampleTrace(folder / "b.ecokv.h5"))->mainPolicy(), "0");
}

// A run noted NaN in layer 2: the zeros that kernels made of it are shown as nothing.
TEST(TraceDocument, numbersOfLayersThatAreNotFiniteAreLeftOut) {
    const test::TemporaryFolder folder;
    {
        trace::TraceWriter writer(test::sampleWriterOptions(folder / "a.ecokv.h5"));
        for (std::int64_t layer = 0; layer < 4; ++layer) {
            test::writeSampleLayer(writer, {}, layer);
        }
        trace::PolicyRecord policy;
        policy.id = "0";
        policy.kept.assign(4 * 2 * 30, 1);
        policy.budgetPerHead.assign(4 * 2, 30);
        policy.outputError.assign(4 * 2, 0.0F);
        writer.writePolicy(policy);
        trace::RunRecord run;
        run.log = "The trace takes about 3.0 MB.\n"
                  "layer 2 head 1: 30 keys hold NaN or Inf, counted as zero";
        writer.writeRun(run);
        writer.close();
    }
    const auto document = openTrace(folder / "a.ecokv.h5");
    EXPECT_EQ(document->notFinite, (std::vector<std::int64_t>{2}));
    for (std::size_t head = 0; head < 8; ++head) {
        EXPECT_EQ(std::isnan(document->headMetric("redundancy")->at(head)), head / 2 == 2);
        EXPECT_EQ(std::isnan(document->policies[0].record.outputError.at(head)), head / 2 == 2);
    }
    ASSERT_FALSE(document->problems.empty());
    EXPECT_NE(document->problems.back().find("Layer 2 holds numbers that are not finite"),
              std::string::npos);
}

TEST(TraceDocument, headMetricsComeInTheOrderPeopleLookAtThem) {
    const test::TemporaryFolder folder;
    const auto document = openTrace(test::writeSampleTrace(folder / "a.ecokv.h5"));
    ASSERT_EQ(document->headMetrics.size(), 6U);
    EXPECT_EQ(document->headMetrics[0].first, "redundancy");
    EXPECT_EQ(document->headMetrics[3].first, "anisotropy");
    ASSERT_NE(document->headMetric("redundancy"), nullptr);
    EXPECT_EQ(document->headMetric("redundancy")->at(5), test::sampleRedundancy(2, 1));
    EXPECT_EQ(document->headMetric("beauty"), nullptr);
}

TEST(TraceDocument, entriesDescribeEveryDataset) {
    const test::TemporaryFolder folder;
    const auto document = openTrace(test::writeSampleTrace(folder / "a.ecokv.h5"));
    const auto keys = std::find_if(document->entries.begin(), document->entries.end(),
                                   [](const auto& entry) { return entry.path == "/tensors/keys"; });
    ASSERT_NE(keys, document->entries.end());
    EXPECT_EQ(keys->shape, (std::vector<std::int64_t>{4, 2, 30, 8}));
    EXPECT_EQ(keys->dtype, "float32");
    EXPECT_EQ(keys->axes, "layer, kv_head, token, dim");
    EXPECT_EQ(keys->storedBytes, 4U * 2 * 30 * 8 * 4);
    EXPECT_EQ(keys->description, "Keys as cached, after rotary embedding");
    EXPECT_EQ(keys->problem, "");
}

TEST(TraceDocument, ofAnUnfinishedRunShowsWhatWasRecorded) {
    const test::TemporaryFolder folder;
    test::SampleOptions options;
    options.layersWritten = 2;
    const auto document = openTrace(test::writeSampleTrace(folder / "a.ecokv.h5", options));
    EXPECT_FALSE(document->complete);
    EXPECT_TRUE(document->policies.empty());
    EXPECT_FALSE(document->run);
    ASSERT_TRUE(document->prompt);
    EXPECT_EQ(document->headMetric("redundancy")->at(3), test::sampleRedundancy(1, 1));
    EXPECT_NE(std::find(document->problems.begin(), document->problems.end(),
                        "Only 2 of 4 layers are recorded."),
              document->problems.end());
    EXPECT_EQ(document->provenance(), "sample, prompt of 30 tokens");
}

TEST(TraceDocument, mayBeReadFromManyThreads) { // F133
    const test::TemporaryFolder folder;
    const auto document = openTrace(test::writeSampleTrace(folder / "a.ecokv.h5"));
    std::vector<std::thread> threads;
    std::vector<int> wrong(4, 0);
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            for (int i = 0; i < 100; ++i) {
                const int layer = (i + thread) % 4, head = i % 2;
                const auto keys = document->reader->keys(layer, head);
                wrong[thread] += keys[8 * 7 + 3] == test::sampleKey(layer, head, 7, 3) ? 0 : 1;
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(TraceDocument, refusesAFileThatIsNoTrace) {
    const test::TemporaryFolder folder;
    std::ofstream(folder / "notes.txt") << "not a trace";
    try {
        openTrace(folder / "notes.txt");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        EXPECT_NE(error.message().find("it is not an HDF5 file"), std::string::npos);
    }
}

} // namespace ecokv::analysis
