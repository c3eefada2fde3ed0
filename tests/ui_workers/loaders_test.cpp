// SPDX-License-Identifier: GPL-3.0-or-later
#include "support/sample_trace.h"
#include "ui/workers/head_loader.h"
#include "ui/workers/survival_loader.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

namespace ecokv::ui {

namespace {

constexpr int kPatienceMs = 8000;

class LoaderTest : public testing::Test {
protected:
    DocumentPtr open() {
        return analysis::openTrace(ecokv::test::writeSampleTrace(m_folder / "sample.ecokv.h5"));
    }

    ecokv::test::TemporaryFolder m_folder;
    AppState m_state;
};

} // namespace

TEST_F(LoaderTest, headFollowsTheSelectionToItsLastPlace) {
    HeadLoader loader(&m_state);
    m_state.setDocument(open());
    for (int layer = 0; layer < 4; ++layer) {
        m_state.selectHead(layer, 1);
    }
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return loader.view().scatter && loader.view().selection.layer == 3; }, kPatienceMs));
    const analysis::HeadScatter& scatter = *loader.view().scatter;
    EXPECT_EQ(scatter.layer, 3);
    EXPECT_EQ(scatter.kvHead, 1);
    ASSERT_EQ(scatter.points.size(), 26U); // 30 tokens, the last 4 are protected
    EXPECT_FLOAT_EQ(scatter.points[5].importance, ecokv::test::sampleImportance(3, 1, 5));
    EXPECT_EQ(scatter.points[5].kept, ecokv::test::sampleKept("0", 3, 1, 5));
    EXPECT_TRUE(loader.view().figure);
    ASSERT_TRUE(loader.view().strip);
    EXPECT_FLOAT_EQ(loader.view().strip->series.importance[5],
                    ecokv::test::sampleImportance(3, 1, 5));
}

TEST_F(LoaderTest, closingTheTraceEmptiesTheHead) {
    HeadLoader loader(&m_state);
    m_state.setDocument(open());
    ASSERT_TRUE(QTest::qWaitFor([&] { return loader.view().scatter != nullptr; }, kPatienceMs));
    m_state.setDocument(nullptr);
    EXPECT_EQ(loader.view().scatter, nullptr);
}

TEST_F(LoaderTest, survivalAsksForOneHeadOrAllLayers) {
    SurvivalLoader loader(&m_state);
    m_state.setDocument(open());
    m_state.selectPolicy(u"1"_qs);
    m_state.selectHead(2, 1);
    const auto settled = [&](analysis::SurvivalMode mode, std::int64_t layer) {
        return loader.view().result && loader.view().query.mode == mode &&
               loader.view().query.layer == layer && loader.view().query.policyId == "1";
    };
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return settled(analysis::SurvivalMode::Head, 2); }, kPatienceMs));
    EXPECT_EQ(loader.view().result->kept, 9); // the first 5 and the last 4
    EXPECT_EQ(loader.view().result->heads, 1);

    loader.setScope({analysis::SurvivalMode::Union, true});
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return settled(analysis::SurvivalMode::Union, -1); }, kPatienceMs));
    EXPECT_EQ(loader.view().result->heads, 8); // 4 layers of 2
    EXPECT_EQ(loader.view().result->kept, 9);  // every head keeps the same
    EXPECT_EQ(loader.view().pictures.size(), 1U);
    EXPECT_TRUE(loader.view().text);
}

TEST_F(LoaderTest, anUnknownPolicyShowsNothing) {
    SurvivalLoader loader(&m_state);
    m_state.setDocument(open());
    m_state.selectPolicy(u"no such policy"_qs);
    EXPECT_EQ(loader.view().result, nullptr);
}

} // namespace ecokv::ui
