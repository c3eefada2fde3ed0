// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/csv_export.h"
#include "analysis/csv_text.h"
#include "base/error.h"
#include "support/sample_trace.h"

#include <gtest/gtest.h>

#include <limits>
#include <locale>
#include <sstream>

namespace ecokv::analysis {

namespace {

std::vector<std::string> linesOf(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// Decimal commas and grouping points, as on a German system.
class GermanNumbers : public std::numpunct<char> {
protected:
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

class WithGermanLocale {
public:
    WithGermanLocale()
        : m_before(std::locale::global(std::locale(std::locale::classic(), new GermanNumbers))) {}
    ~WithGermanLocale() { std::locale::global(m_before); }

private:
    std::locale m_before;
};

} // namespace

TEST(CsvCell, quotesAsInRfc4180) {
    EXPECT_EQ(csvCell(std::string("plain word")), "plain word");
    EXPECT_EQ(csvCell(std::string("a,b")), "\"a,b\"");
    EXPECT_EQ(csvCell(std::string("say \"A\"")), "\"say \"\"A\"\"\"");
    EXPECT_EQ(csvCell(std::string("\n")), "\"\n\"");
    EXPECT_EQ(csvCell(std::string("\r")), "\"\r\"");
    EXPECT_EQ(csvCell(std::string()), "");
}

TEST(CsvCell, replacesBytesThatAreNotUtf8) {
    EXPECT_EQ(csvCell(std::string("\xF0\x9F\x98\x80 \xC3\xA9")), "\xF0\x9F\x98\x80 \xC3\xA9");
    EXPECT_EQ(csvCell(std::string("\xE2\x82")), "\xEF\xBF\xBD\xEF\xBF\xBD"); // half a euro sign
    EXPECT_EQ(csvCell(std::string("\xC0\xAF")), "\xEF\xBF\xBD\xEF\xBF\xBD"); // overlong slash
    EXPECT_EQ(csvCell(std::string("\xED\xA0\x80x")),
              "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDx"); // a lone surrogate
}

TEST(CsvCell, writesTheShortestDigitsThatReadBack) {
    EXPECT_EQ(csvCell(0.1F), "0.1");
    EXPECT_EQ(csvCell(1e-6F), "1e-06");
    EXPECT_EQ(csvCell(16777216.0F), "16777216");
    EXPECT_EQ(csvCell(std::numeric_limits<float>::quiet_NaN()), "");
    for (const float value : {1.0F / 3.0F, 3.4028235e38F, 1.1754944e-38F, 0.30000001F}) {
        EXPECT_EQ(std::stof(csvCell(value)), value);
    }
}

TEST(CsvCell, keepsThePointUnderADecimalCommaLocale) { // F155, F156
    const WithGermanLocale german;
    std::ostringstream probe;
    probe << 1234.5;
    ASSERT_EQ(probe.str(), "1.234,5"); // the locale is in force
    EXPECT_EQ(csvCell(0.2F), "0.2");
    EXPECT_EQ(csvCell(1234.5F), "1234.5");
}

class CsvOfSample : public testing::Test {
protected:
    test::TemporaryFolder m_folder;
    std::shared_ptr<const TraceDocument> m_document =
        openTrace(test::writeSampleTrace(m_folder / "a.ecokv.h5"));
};

TEST_F(CsvOfSample, headMetricListsEveryHeadAfterProvenanceAndHeader) {
    const auto lines = linesOf(headMetricCsv(*m_document, "redundancy"));
    ASSERT_EQ(lines.size(), 2U + 8U);
    EXPECT_EQ(lines[0],
              "# sample, prompt of 30 tokens, ecokv, budget 13, window 6 (1 of 2 policies)");
    EXPECT_EQ(lines[1], "layer,kv_head,redundancy");
    EXPECT_EQ(lines[2], "0,0,0.1");
    EXPECT_EQ(lines[9].substr(0, 4), "3,1,");
    EXPECT_EQ(std::stof(lines[9].substr(4)), test::sampleRedundancy(3, 1));
    EXPECT_THROW(headMetricCsv(*m_document, "beauty"), Error);
}

TEST_F(CsvOfSample, policyMetricListsEveryHeadOfThatPolicy) {
    // Policy "1" keeps the first 5 and the last 4 tokens of every head.
    const auto lines = linesOf(policyMetricCsv(*m_document, "1", "kept_budget"));
    ASSERT_EQ(lines.size(), 2U + 8U);
    EXPECT_EQ(lines[1], "layer,kv_head,kept_budget");
    EXPECT_EQ(lines[9], "3,1,9");
    EXPECT_EQ(linesOf(policyMetricCsv(*m_document, "0", "output_error"))[4], "1,0,0.02");
    EXPECT_THROW(policyMetricCsv(*m_document, "7", "kept_budget"), Error);
    EXPECT_THROW(policyMetricCsv(*m_document, "1", "beauty"), Error);
}

TEST_F(CsvOfSample, layersWithoutACacheHaveEmptyCells) {
    TraceDocument document = *m_document;
    document.model->linearLayers = {0, 0, 1, 0};
    const auto lines = linesOf(policyMetricCsv(document, "1", "kept_budget"));
    EXPECT_EQ(lines[2 + 5], "2,1,");
    EXPECT_EQ(lines[9], "3,1,9");
    // "0" in the place of nothing would say that every token was evicted.
    const auto survivors = linesOf(survivalCsv(document, {"1", SurvivalMode::Head, 2, 0}));
    EXPECT_EQ(survivors[2], "0,<s>,special,,,,,,,");
    const auto series = linesOf(tokenSeriesCsv(document, tokenSeries(document, "1", 2, 0)));
    EXPECT_EQ(series[2].back(), ',');
}

TEST_F(CsvOfSample, theFirstLineNamesThePolicyWhoseValuesFollow) {
    const std::string streaming =
        "# sample, prompt of 30 tokens, streaming, budget 9, window 6 (1 of 2 policies)";
    const auto scatter = headScatter(*m_document, "1", 0, 0, DiversityKind::Composite);
    for (const std::string& csv :
         {policyMetricCsv(*m_document, "1", "kept_budget"),
          survivalCsv(*m_document, {"1", SurvivalMode::Head, 0, 0}),
          scatterCsv(*m_document, scatter),
          tokenSeriesCsv(*m_document, tokenSeries(*m_document, "1", 0, 0))}) {
        EXPECT_EQ(linesOf(csv)[0], streaming);
    }
}

TEST_F(CsvOfSample, survivalNamesTokensPatchesAndShares) {
    const auto lines = linesOf(survivalCsv(*m_document, {"1", SurvivalMode::Head, 0, 0}));
    ASSERT_EQ(lines.size(), 2U + 30U);
    EXPECT_EQ(lines[1], "token,text,kind,image,x0,y0,x1,y1,share,role");
    EXPECT_EQ(lines[2], "0,<s>,special,,,,,,1,");
    EXPECT_EQ(lines[2 + 4], "4,,image,0,0,0,6,5.3333335,1,patch");
    EXPECT_EQ(lines[2 + 20], "20,w20,text,,,,,,0,");
    EXPECT_EQ(lines[2 + 29], "29,w29,text,,,,,,1,");
}

TEST_F(CsvOfSample, scatterListsCandidatesOnly) {
    const auto scatter = headScatter(*m_document, "1", 0, 0, DiversityKind::Composite);
    const auto lines = linesOf(scatterCsv(*m_document, scatter));
    ASSERT_EQ(lines.size(), 2U + 26U);
    EXPECT_EQ(lines[1], "token,text,kind,importance,diversity,score,kept");
    EXPECT_EQ(lines[2], "0,<s>,special,0.01,0,0.005,1");
    EXPECT_EQ(lines[2 + 25].substr(0, 12), "25,w25,text,");
    EXPECT_EQ(lines[2 + 25].back(), '0');
}

} // namespace ecokv::analysis
