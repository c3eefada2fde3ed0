// SPDX-License-Identifier: GPL-3.0-or-later
// What TraceWriter was given comes back from TraceReader, against the formulas of the sample.
#include "base/error.h"
#include "base/float_convert.h"
#include "support/sample_trace.h"
#include "trace/trace_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace ecokv::trace {

using test::SampleOptions;
using test::TemporaryFolder;

class RoundTrip : public testing::TestWithParam<std::tuple<DType, bool>> {};

TEST_P(RoundTrip, tensorsComeBackRoundedToTheirStorageTypeOnly) {
    const TemporaryFolder folder;
    SampleOptions options;
    options.storage = std::get<0>(GetParam());
    options.compact = std::get<1>(GetParam());
    const TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5", options));
    const auto stored = [&](float value) {
        switch (options.storage) {
        case DType::BF16:
            return bf16ToFloat(floatToBf16(value));
        case DType::F16:
            return f16ToFloat(floatToF16(value));
        default:
            return value;
        }
    };
    for (const auto& [layer, head] : {std::pair{0, 0}, {1, 1}, {3, 0}}) {
        const auto keys = reader.keys(layer, head);
        const auto values = reader.values(layer, head);
        ASSERT_EQ(keys.size(), 30U * 8U);
        ASSERT_EQ(values.size(), 30U * 8U);
        for (int token = 0; token < 30; ++token) {
            for (int dim = 0; dim < 8; ++dim) {
                const auto i = static_cast<std::size_t>(token * 8 + dim);
                ASSERT_EQ(keys[i], stored(test::sampleKey(layer, head, token, dim)));
                ASSERT_EQ(values[i], stored(test::sampleValue(layer, head, token, dim)));
            }
        }
    }
    const auto queries = reader.windowQueries(2, 3);
    ASSERT_EQ(queries.size(), 6U * 8U);
    EXPECT_EQ(queries[5 * 8 + 7], stored(test::sampleQuery(2, 3, 5, 7)));
}

INSTANTIATE_TEST_SUITE_P(Storage, RoundTrip,
                         testing::Combine(testing::Values(DType::F32, DType::BF16, DType::F16),
                                          testing::Bool()));

TEST(TraceRoundTrip, recordsComeBackAsWritten) {
    const TemporaryFolder folder;
    const TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5"));
    EXPECT_TRUE(reader.complete());
    EXPECT_TRUE(reader.problems().empty()) << reader.problems().front();
    const Dimensions& d = reader.dimensions();
    EXPECT_EQ(d.layers, 4);
    EXPECT_EQ(d.heads, 4);
    EXPECT_EQ(d.kvHeads, 2);
    EXPECT_EQ(d.tokens, 30);
    EXPECT_EQ(d.headDim, 8);
    EXPECT_EQ(d.window, 6);
    EXPECT_EQ(reader.windowPositions(), (std::vector<std::int64_t>{24, 25, 26, 27, 28, 29}));

    const auto model = reader.model();
    ASSERT_TRUE(model);
    EXPECT_EQ(std::get<std::string>(model->attributes.at("name")), "sample");
    EXPECT_EQ(std::get<double>(model->attributes.at("rope_theta")), 10000.0);
    EXPECT_EQ(std::get<std::int64_t>(model->attributes.at("n_layers")), 4);
    EXPECT_EQ(model->configJson, R"({"model_type":"llava"})");

    const auto run = reader.run();
    ASSERT_TRUE(run);
    EXPECT_EQ(run->argumentsJson, R"({"prompt":"What is A?"})");
    EXPECT_EQ(run->log, "prefill done\n");
    EXPECT_EQ(std::get<double>(run->attributes.at("prefill_seconds")), 0.125);
}

TEST(TraceRoundTrip, promptAndPicturesComeBackAsWritten) {
    const TemporaryFolder folder;
    const TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5"));
    const auto written = test::samplePrompt();
    const auto prompt = reader.prompt();
    ASSERT_TRUE(prompt);
    EXPECT_EQ(prompt->text, written.text);
    EXPECT_EQ(prompt->tokenIds, written.tokenIds);
    EXPECT_EQ(prompt->tokenText, written.tokenText);
    EXPECT_EQ(prompt->tokenKind, written.tokenKind);
    EXPECT_EQ(prompt->imageIndex, written.imageIndex);
    EXPECT_EQ(prompt->patchRole, written.patchRole);
    EXPECT_EQ(prompt->patchBox.at(9), (std::array<float, 4>{6, 16.0F / 3, 12, 32.0F / 3}));
    EXPECT_TRUE(std::isnan(prompt->patchBox.at(0)[2]));

    const auto images = reader.images();
    ASSERT_EQ(images.size(), 1U);
    EXPECT_EQ(images[0].width, 24);
    EXPECT_EQ(images[0].height, 16);
    EXPECT_EQ(images[0].pixels, test::sampleImage().pixels);
    EXPECT_EQ(images[0].attributes, test::sampleImage().attributes);
}

TEST(TraceRoundTrip, metricsAndScoresComeBackWithNaNForProtectedTokens) {
    const TemporaryFolder folder;
    const TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5"));
    EXPECT_EQ(reader.headMetrics(),
              (std::vector<std::string>{"anisotropy", "mean_key_norm", "participation_ratio",
                                        "redundancy", "redundancy_cosine", "redundancy_euclid"}));
    EXPECT_EQ(reader.scoreNames().size(), 7U);
    const auto redundancy = reader.headMetric("redundancy");
    ASSERT_EQ(redundancy.size(), 8U);
    EXPECT_EQ(redundancy[3 * 2 + 1], test::sampleRedundancy(3, 1));
    const auto importance = reader.scores("importance", 2, 1);
    ASSERT_EQ(importance.size(), 30U);
    EXPECT_EQ(importance[25], test::sampleImportance(2, 1, 25));
    EXPECT_TRUE(std::isnan(importance[26]));
    EXPECT_EQ(reader.scores("key_norm", 0, 0)[29], 1.0F + 0.1F * 29.0F);
}

// Two of four layers written by hand: what the writing thread derives joins what was given.
TEST(TraceRoundTrip, derivedMetricsAndSpectraComeBackAndMissingLayersAreNaN) {
    for (const bool compact : {false, true}) {
        const TemporaryFolder folder;
        SampleOptions options;
        options.compact = compact;
        {
            TraceWriter writer(test::sampleWriterOptions(folder / "a.ecokv.h5", options));
            std::vector<float> keys(2 * 30 * 8), queries(4 * 6 * 8);
            for (std::int64_t layer = 0; layer < 2; ++layer) {
                LayerRecord record;
                record.layer = layer;
                record.keys = TensorView::contiguous(keys.data(), DType::F32, {2, 30, 8});
                record.values = record.keys;
                record.windowQueries =
                    TensorView::contiguous(queries.data(), DType::F32, {4, 6, 8});
                record.heads = {{"anisotropy", {0.5F, 0.25F}}};
                record.derive = [layer] {
                    std::vector<float> spectrum(16);
                    std::iota(spectrum.begin(), spectrum.end(), static_cast<float>(100 * layer));
                    return DerivedHeads{{{"anisotropy", {9, 9}}, {"anisotropy_pre", {1, 2}}},
                                        {{"spectrum", spectrum}}};
                };
                writer.writeLayer(record);
            }
        }
        const TraceReader reader(folder / "a.ecokv.h5.part");
        EXPECT_EQ(reader.headMetrics(), (std::vector<std::string>{"anisotropy", "anisotropy_pre"}));
        EXPECT_EQ(reader.headMetric("anisotropy")[1], 0.25F); // what was given stays
        EXPECT_EQ(reader.headMetric("anisotropy_pre")[3], 2.0F);
        EXPECT_TRUE(std::isnan(reader.headMetric("anisotropy_pre")[4]));
        EXPECT_EQ(reader.headSpectra(), (std::vector<std::string>{"spectrum"}));
        const auto spectrum = reader.headSpectrum("spectrum", 1, 1);
        EXPECT_EQ(spectrum, (std::vector<float>{108, 109, 110, 111, 112, 113, 114, 115}));
        EXPECT_THROW(reader.headSpectrum("spectrum", 3, 0), Error); // not recorded
        EXPECT_THROW(reader.headSpectrum("spectrum_pre", 0, 0), Error);
    }
}

TEST(TraceRoundTrip, aDerivationOfTheWrongLengthIsReported) {
    const TemporaryFolder folder;
    TraceWriter writer(test::sampleWriterOptions(folder / "a.ecokv.h5", {}));
    std::vector<float> keys(2 * 30 * 8), queries(4 * 6 * 8);
    LayerRecord record;
    record.keys = TensorView::contiguous(keys.data(), DType::F32, {2, 30, 8});
    record.values = record.keys;
    record.windowQueries = TensorView::contiguous(queries.data(), DType::F32, {4, 6, 8});
    record.derive = [] { return DerivedHeads{{{"anisotropy", {1, 2, 3}}}, {}}; };
    writer.writeLayer(record);
    EXPECT_THROW(writer.close(), Error);
}

TEST(TraceRoundTrip, policiesAndDecodesComeBackAsWritten) {
    const TemporaryFolder folder;
    const TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5"));
    EXPECT_EQ(reader.policyIds(), (std::vector<std::string>{"0", "1"}));
    const auto policy = reader.policy("0");
    EXPECT_EQ(std::get<std::string>(policy.attributes.at("policy")), "ecokv");
    ASSERT_EQ(policy.kept.size(), 4U * 2U * 30U);
    for (int layer = 0; layer < 4; ++layer) {
        for (int token = 0; token < 30; ++token) {
            const auto at = static_cast<std::size_t>((layer * 2 + 1) * 30 + token);
            ASSERT_EQ(policy.kept[at] == 1, test::sampleKept("0", layer, 1, token));
        }
    }
    EXPECT_EQ(policy.budgetPerHead.at(0), 9 + 4); // 0, 3, ..., 24 and the last four
    EXPECT_EQ(policy.outputError.at(7), 0.04F);
    EXPECT_EQ(reader.decode()->tokenText, (std::vector<std::string>{"4", "0", "7"}));
    const auto decode = reader.policyDecode("1");
    ASSERT_TRUE(decode);
    EXPECT_EQ(decode->tokenIds, (std::vector<std::int64_t>{'4'}));
    EXPECT_EQ(decode->logprob, (std::vector<float>{-0.25F}));
    EXPECT_FALSE(reader.policyDecode("7"));
    EXPECT_THROW(reader.policy("7"), Error);
}

} // namespace ecokv::trace
