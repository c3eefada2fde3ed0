// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/geometry_csv.h"
#include "analysis/geometry_summary.h"
#include "analysis/geometry_table.h"
#include "base/error.h"
#include "support/sample_trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <sstream>

namespace ecokv::analysis {

namespace {

std::vector<std::string> linesOf(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// Two layers of one head; the second layer was not recorded.
GeometryTable handMade() {
    GeometryTable table;
    table.layers = 2;
    table.kvHeads = 2;
    table.dim = 2;
    table.metrics = {{"redundancy_cosine", {0.5F, 0.25F, 0.75F, NAN}},
                     {"redundancy_cosine_pre", {0.75F, 0.5F, 0.5F, NAN}},
                     {"redundancy_cosine_image", {0.5F, 0.5F, 0.5F, NAN}},
                     {"redundancy_cosine_text", {0.25F, 0.75F, 0.25F, NAN}}};
    table.spectra = {{"spectrum", {4, 1, 3, 1, 2, 1, NAN, NAN}}};
    return table;
}

/// r_cos over tokens [0, end) of the sample's keys, from all pairs.
double redundancyOfSample(std::int64_t layer, std::int64_t head, std::int64_t end) {
    double sum = 0;
    const auto dot = [&](std::int64_t i, std::int64_t j) {
        double product = 0;
        for (std::int64_t d = 0; d < 8; ++d) {
            product += static_cast<double>(test::sampleKey(layer, head, i, d)) *
                       static_cast<double>(test::sampleKey(layer, head, j, d));
        }
        return product;
    };
    for (std::int64_t i = 0; i < end; ++i) {
        for (std::int64_t j = 0; j < end; ++j) {
            sum += i == j ? 0.0 : dot(i, j) / std::sqrt(dot(i, i) * dot(j, j));
        }
    }
    return sum / static_cast<double>(end * (end - 1));
}

} // namespace

// The sample records six metrics alone, as older traces do: the rest comes from its keys.
TEST(GeometryTable, ofATraceWithoutGeometryIsMeasuredFromItsKeys) {
    const test::TemporaryFolder folder;
    const trace::TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5"));
    const GeometryTable table = geometryTable(reader);
    EXPECT_TRUE(table.measured);
    EXPECT_TRUE(table.notes.empty());
    // Candidates are what the recorded policy did not protect: 30 tokens but the last four.
    EXPECT_NEAR(table.value("redundancy_cosine", 2, 1), redundancyOfSample(2, 1, 26), 1e-6);
    for (const char* name : {"anisotropy_pre", "participation_ratio_image", "mean_key_norm_text",
                             "redundancy_euclid_pre_text"}) {
        ASSERT_TRUE(table.has(name)) << name;
        EXPECT_TRUE(std::isfinite(table.value(name, 3, 1))) << name;
    }
    EXPECT_EQ(table.value("redundancy", 1, 0), test::sampleRedundancy(1, 0)); // recorded stays
    const auto& spectrum = table.spectra.at("spectrum");
    ASSERT_EQ(spectrum.size(), 4U * 2U * 8U);
    const double sum = std::accumulate(spectrum.begin(), spectrum.begin() + 8, 0.0);
    double squares = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        squares += static_cast<double>(spectrum[i]) * static_cast<double>(spectrum[i]);
    }
    EXPECT_NEAR(table.value("participation_ratio", 0, 0), sum * sum / squares, 1e-5);
    EXPECT_TRUE(std::isnan(table.value("beauty", 0, 0)));
}

TEST(GeometryTable, ofAnUnfinishedRunSaysWhereItStops) {
    const test::TemporaryFolder folder;
    test::SampleOptions options;
    options.layersWritten = 2;
    const trace::TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5", options));
    const GeometryTable table = geometryTable(reader);
    EXPECT_TRUE(std::isfinite(table.value("anisotropy_pre", 1, 1)));
    EXPECT_TRUE(std::isnan(table.value("anisotropy_pre", 2, 0)));
    ASSERT_EQ(table.notes.size(), 1U);
    EXPECT_NE(table.notes[0].find("Layer 2 is not recorded"), std::string::npos);
}

TEST(GeometryTable, canBeCancelled) {
    const test::TemporaryFolder folder;
    const trace::TraceReader reader(test::writeSampleTrace(folder / "a.ecokv.h5"));
    CancellationSource stop;
    stop.cancel();
    GeometryRequest request;
    request.cancel = stop.token();
    EXPECT_THROW(geometryTable(reader, request), Error);
}

TEST(GeometrySummary, contrastsTwoMetricsOverTheHeadsThatHaveBoth) {
    const auto kinds = contrast(handMade(), "redundancy_cosine_image", "redundancy_cosine_text");
    ASSERT_TRUE(kinds);
    EXPECT_EQ(kinds->heads, 3);
    EXPECT_EQ(kinds->more, 2);
    EXPECT_DOUBLE_EQ(kinds->first, 0.5);
    EXPECT_NEAR(kinds->second, 1.25 / 3, 1e-12);
    EXPECT_FALSE(contrast(handMade(), "redundancy_cosine", "beauty"));
}

TEST(GeometrySummary, ranksHeadsAndSaysItInWords) {
    const auto ranked = rankedHeads(handMade(), "redundancy_cosine");
    ASSERT_EQ(ranked.size(), 3U);
    EXPECT_EQ(ranked[0].layer, 1);
    EXPECT_EQ(ranked[2].kvHead, 1);
    const auto lines = describeGeometry(handMade(), {}, std::nullopt);
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines[0], "Most redundant (mean cosine of two keys): layer 1 head 0 (0.75), layer 0 "
                        "head 0 (0.50), layer 0 head 1 (0.25).");
    EXPECT_EQ(lines[2], "Image tokens are more alike than text tokens in 2 of 3 heads (mean "
                        "redundancy 0.50 against 0.42).");
    EXPECT_EQ(lines[3], "Undoing RoPE moves the mean redundancy from 0.50 to 0.58; it grows in 2 "
                        "of 3 heads.");
}

// Field cases F155, F156.
TEST(GeometryCsv, holdsEveryMetricAndEmptyCellsForTheUnknown) {
    ImportanceRelation relation;
    relation.composite = {0.5, 0.25};
    relation.cosine = relation.euclid = {NAN, 0};
    relation.rankDisagreement = 0.75;
    const auto lines = linesOf(geometryCsv("sample, 30 tokens", handMade(), {relation}));
    ASSERT_EQ(lines.size(), 6U);
    EXPECT_EQ(lines[0], "# sample, 30 tokens");
    EXPECT_EQ(lines[1].substr(0, 61),
              "layer,kv_head,redundancy_cosine,redundancy_cosine_image,redun");
    EXPECT_EQ(lines[2], "0,0,0.5,0.5,0.75,0.25,,0,,0,0.5,0.25,0.75");
    EXPECT_EQ(lines[5], "1,1,,,,,,,,,,,");
    const auto spectrum = linesOf(spectrumCsv("s", handMade()));
    EXPECT_EQ(spectrum[1], "layer,kv_head,component,spectrum");
    EXPECT_EQ(spectrum[3], "0,0,1,1");
    EXPECT_EQ(spectrum.back(), "1,1,1,");
}

TEST(GeometryCsv, survivorDistancesFollowTheTree) {
    SurvivorClusters survivors;
    survivors.heads = {2, 3};
    survivors.distances = {0, 0.5, 0.5, 0};
    survivors.clusters.order = {1, 0};
    const auto lines = linesOf(survivorDistanceCsv("s", survivors, 2));
    ASSERT_EQ(lines.size(), 6U);
    EXPECT_EQ(lines[2], "1,1,1,1,0");
    EXPECT_EQ(lines[3], "1,1,1,0,0.5");
}

} // namespace ecokv::analysis
