// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/csv_export.h"
#include "analysis/token_series.h"
#include "base/error.h"
#include "support/sample_trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

namespace ecokv::analysis {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<std::string> linesOf(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

} // namespace

class TokenSeriesOfSample : public testing::Test {
protected:
    test::TemporaryFolder m_folder;
    std::shared_ptr<const TraceDocument> m_document =
        openTrace(test::writeSampleTrace(m_folder / "a.ecokv.h5"));
};

TEST_F(TokenSeriesOfSample, holdsEveryTokenAndGapsForProtectedOnes) {
    const TokenSeries series = tokenSeries(*m_document, "0", 2, 1);
    ASSERT_EQ(series.importance.size(), 30U);
    ASSERT_EQ(series.kept.size(), 30U);
    for (std::size_t i = 0; i < 26; ++i) {
        const auto token = static_cast<std::int64_t>(i);
        const float importance = test::sampleImportance(2, 1, token);
        const float diversity = test::sampleDiversity(2, 1, token);
        EXPECT_EQ(series.importance[i], importance);
        EXPECT_EQ(series.diversity[i], diversity);
        EXPECT_NEAR(series.score[i], 0.5F * importance + 0.5F * diversity, 1e-7F);
        EXPECT_EQ(series.kept[i] != 0, test::sampleKept("0", 2, 1, token));
    }
    for (std::size_t i = 26; i < 30; ++i) {
        EXPECT_TRUE(std::isnan(series.importance[i]));
        EXPECT_TRUE(std::isnan(series.diversity[i]));
        EXPECT_TRUE(std::isnan(series.score[i]));
        EXPECT_EQ(series.kept[i], 1);
    }
}

TEST_F(TokenSeriesOfSample, knowsWhereThePictureIs) {
    const TokenSeries series = tokenSeries(*m_document, "1", 0, 0);
    ASSERT_EQ(series.images.size(), 1U);
    EXPECT_EQ(series.images[0].image, 0);
    EXPECT_EQ(series.images[0].first, 4);
    EXPECT_EQ(series.images[0].last, 15);
}

TEST_F(TokenSeriesOfSample, refusesAnUnknownPolicyOrHead) {
    EXPECT_THROW(tokenSeries(*m_document, "9", 0, 0), Error);
    EXPECT_THROW(tokenSeries(*m_document, "0", 4, 0), Error);
    EXPECT_THROW(tokenSeries(*m_document, "0", 0, 2), Error);
}

// Field cases F155, F156.
TEST_F(TokenSeriesOfSample, csvLeavesScoresOfProtectedTokensEmpty) {
    const auto lines = linesOf(tokenSeriesCsv(*m_document, tokenSeries(*m_document, "0", 0, 0)));
    ASSERT_EQ(lines.size(), 32U); // provenance, header, 30 tokens
    EXPECT_EQ(lines[0].substr(0, 2), "# ");
    EXPECT_EQ(lines[1], "token,text,kind,importance,diversity,score,kept");
    EXPECT_EQ(lines[2], "0,<s>,special,0.01,0,0.005,1");
    EXPECT_EQ(lines[29], "27,w27,text,,,,1");
}

TEST(ImageSpans, separatorsBetweenRowsBelongToThePicture) {
    const std::vector<std::int32_t> index{-1, 0, 0, -1, 0, -1, 1, 1};
    const auto spans = imageSpans(index);
    ASSERT_EQ(spans.size(), 2U);
    EXPECT_EQ(spans[0].first, 1);
    EXPECT_EQ(spans[0].last, 4);
    EXPECT_EQ(spans[1].image, 1);
    EXPECT_EQ(spans[1].first, 6);
    EXPECT_EQ(spans[1].last, 7);
    EXPECT_TRUE(imageSpans({}).empty());
}

TEST(ReduceSeries, givesTheTokensThemselvesWhenTheyFit) {
    const std::vector<float> values{1, kNaN, 3, 4};
    const auto points = reduceSeries(values, 1, 9, 100);
    ASSERT_EQ(points.size(), 3U);
    EXPECT_EQ(points[0].position, 1);
    EXPECT_TRUE(std::isnan(points[0].value));
    EXPECT_EQ(points[1].value, 3);
    EXPECT_EQ(points[2].position, 3);
    EXPECT_EQ(points[2].value, 4);
}

// 12 tokens on 3 columns: runs of 4, at positions -0.5 .. 3.5, 3.5 .. 7.5, 7.5 .. 11.5.
TEST(ReduceSeries, keepsTheExtremesOfEachColumn) {
    const std::vector<float> values{5, 1, 9, 2, kNaN, kNaN, kNaN, kNaN, kNaN, 7, kNaN, 6};
    const auto points = reduceSeries(values, 0, 11, 3);
    ASSERT_EQ(points.size(), 5U);
    EXPECT_EQ(points[0].position, 0.5);
    EXPECT_EQ(points[0].value, 1);
    EXPECT_EQ(points[1].position, 2.5);
    EXPECT_EQ(points[1].value, 9);
    EXPECT_TRUE(std::isnan(points[2].value)); // a column without values is a gap
    EXPECT_EQ(points[3].value, 6);            // ... and one that begins with NaN is not
    EXPECT_EQ(points[4].value, 7);
}

TEST(ReduceSeries, columnsStayPutWhileTheViewPans) {
    std::vector<float> values(1000);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(i * 37 % 101);
    }
    const auto before = reduceSeries(values, 0, 399, 40); // runs of 10
    const auto after = reduceSeries(values, 5, 404, 40);
    // All but the cut first column of the panned view are columns of the view before.
    for (std::size_t i = 2; i + 2 < before.size(); ++i) {
        EXPECT_EQ(before[i].position, after[i].position);
        EXPECT_EQ(before[i].value, after[i].value);
    }
}

TEST(ReduceSeries, anEmptyRangeHasNoPoints) {
    const std::vector<float> values{1, 2};
    EXPECT_TRUE(reduceSeries(values, 2, 5, 10).empty());
    EXPECT_TRUE(reduceSeries(values, 1, 0, 10).empty());
    EXPECT_TRUE(reduceSeries({}, 0, 5, 10).empty());
    EXPECT_EQ(reduceSeries(values, -3, 5, 0).size(), 2U); // no columns counts as one
}

TEST(ReduceFlags, givesTheShareOfEachColumnAndNothingForNone) {
    const std::vector<std::uint8_t> flags{1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0};
    const auto columns = reduceFlags(flags, 0, 11, 3);
    ASSERT_EQ(columns.size(), 2U);
    EXPECT_EQ(columns[0].position, 1.5);
    EXPECT_EQ(columns[0].value, 0.25);
    EXPECT_EQ(columns[1].position, 9.5);
    EXPECT_EQ(columns[1].value, 0.75);
    const auto single = reduceFlags(flags, 0, 11, 100);
    ASSERT_EQ(single.size(), 4U);
    EXPECT_EQ(single[1].position, 8);
    EXPECT_EQ(single[1].value, 1);
}

} // namespace ecokv::analysis
