// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/head_scatter.h"
#include "base/error.h"
#include "support/sample_trace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ecokv::analysis {

class HeadScatterOfSample : public testing::Test {
protected:
    test::TemporaryFolder m_folder;
    std::shared_ptr<const TraceDocument> m_document =
        openTrace(test::writeSampleTrace(m_folder / "a.ecokv.h5"));
};

TEST_F(HeadScatterOfSample, holdsTheCandidatesWithTheirScores) {
    const auto scatter = headScatter(*m_document, "0", 2, 1, DiversityKind::Composite);
    ASSERT_EQ(scatter.points.size(), 26U); // the last four are protected
    for (const ScatterPoint& point : scatter.points) {
        const float importance = test::sampleImportance(2, 1, point.token);
        const float diversity = test::sampleDiversity(2, 1, point.token);
        EXPECT_EQ(point.importance, importance);
        EXPECT_EQ(point.diversity, diversity);
        EXPECT_NEAR(point.score, 0.5F * importance + 0.5F * diversity, 1e-7F);
        EXPECT_EQ(point.kept, test::sampleKept("0", 2, 1, point.token));
        EXPECT_EQ(point.kind, point.token == 0 ? 1 : point.token >= 4 && point.token < 16 ? 2 : 0);
    }
    EXPECT_EQ(scatter.points.back().token, 25);
}

// scipy.stats.spearmanr 1.17.1 of the sample's formulas over tokens 0..25.
TEST_F(HeadScatterOfSample, correlatesRanksAsScipyDoes) {
    const auto composite = headScatter(*m_document, "0", 2, 1, DiversityKind::Composite);
    EXPECT_NEAR(composite.spearman, -0.10017094017094016, 1e-12);
    const auto euclid = headScatter(*m_document, "0", 2, 1, DiversityKind::Euclid);
    EXPECT_NEAR(euclid.spearman, -0.10017094017094016, 1e-12); // a rising function of it
}

TEST_F(HeadScatterOfSample, theKindChoosesTheDiversity) {
    const auto cosine = headScatter(*m_document, "0", 1, 0, DiversityKind::Cosine);
    const auto euclid = headScatter(*m_document, "0", 1, 0, DiversityKind::Euclid);
    const float diversity = test::sampleDiversity(1, 0, 7);
    EXPECT_FLOAT_EQ(cosine.points[7].diversity, 0.5F * diversity);
    EXPECT_FLOAT_EQ(euclid.points[7].diversity, diversity * diversity);
}

TEST_F(HeadScatterOfSample, carriesTheHeadsOwnStatistics) {
    const auto scatter = headScatter(*m_document, "1", 3, 1, DiversityKind::Composite);
    EXPECT_FLOAT_EQ(static_cast<float>(scatter.redundancy), 0.75F); // 0.1 + 0.6 + 0.05
    EXPECT_FLOAT_EQ(static_cast<float>(scatter.redundancyCosine), 0.76F);
    EXPECT_FLOAT_EQ(static_cast<float>(scatter.redundancyEuclid), 0.74F);
    EXPECT_NEAR(scatter.anisotropy, 0.8660254, 1e-6);
}

TEST_F(HeadScatterOfSample, refusesAnUnknownPolicyOrHead) {
    EXPECT_THROW(headScatter(*m_document, "9", 0, 0, DiversityKind::Composite), Error);
    EXPECT_THROW(headScatter(*m_document, "0", 0, 2, DiversityKind::Composite), Error);
}

} // namespace ecokv::analysis
