// SPDX-License-Identifier: GPL-3.0-or-later
// One selection, many views: what is done in one is seen in the others.
#include "desktop_fixture.h"

#include "ui/models/token_table_model.h"
#include "ui/pages/head_page.h"
#include "ui/pages/head_selector.h"
#include "ui/pages/heads_page.h"
#include "ui/pages/survival_page.h"
#include "ui/pages/trace_page.h"
#include "ui/plots/scatter_plot.h"
#include "ui/plots/score_strip_plot.h"
#include "ui/plots/survival_image.h"
#include "ui/plots/token_text.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QLabel>
#include <QMenu>
#include <QMimeData>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QTableView>
#include <QTreeView>

#include <cmath>
#include <limits>

namespace ecokv::ui::test {

class LinkedViewsTest : public DesktopTest {
protected:
    void SetUp() override {
        open({sampleTrace()});
        ASSERT_TRUE(waitFor([&] { return m_bench->survival()->view().result != nullptr; }));
        ASSERT_TRUE(waitFor([&] { return m_bench->head()->view().scatter != nullptr; }));
        ASSERT_TRUE(waitFor([&] { return runButton()->isEnabled(); }));
    }
    HeadPage* headPage() const { return m_window->findChild<HeadPage*>(); }
    QString inspected(const QString& label) const {
        const QAbstractItemModel* model =
            m_window->findChild<QTableView*>(u"inspectorTable"_qs)->model();
        for (int row = 0; row < model->rowCount(); ++row) {
            if (model->index(row, 0).data().toString().trimmed() == label) {
                return model->index(row, 1).data().toString();
            }
        }
        return u"(no such row)"_qs;
    }
};

TEST_F(LinkedViewsTest, slidersOfAllPagesMoveTogether) {
    const auto selectors = m_window->findChildren<HeadSelector*>();
    ASSERT_GE(selectors.size(), 2);
    selectors[0]->findChildren<QSlider*>()[0]->setValue(2);
    EXPECT_EQ(m_bench->state()->selection().layer, 2);
    for (const HeadSelector* selector : selectors) {
        EXPECT_EQ(selector->findChildren<QSpinBox*>()[0]->value(), 2);
        EXPECT_EQ(selector->findChildren<QSlider*>()[0]->value(), 2);
    }
    EXPECT_EQ(inspected(u"Layer"_qs), u"2"_qs);
}

TEST_F(LinkedViewsTest, severalPoliciesCanBeChosen) {
    auto* selector = m_window->survivalPage()->findChild<HeadSelector*>();
    auto* policies = selector->findChild<QComboBox*>();
    ASSERT_EQ(policies->count(), 2);
    policies->setCurrentIndex(1);
    EXPECT_EQ(m_bench->state()->selection().policyId, u"1"_qs);
    ASSERT_TRUE(waitFor([&] {
        return m_bench->survival()->view().query.policyId == "1" &&
               m_bench->survival()->view().result != nullptr;
    }));
    EXPECT_EQ(m_bench->survival()->view().result->kept, 9); // the first 5 and the last 4
    const auto* other = headPage()->findChild<HeadSelector*>()->findChild<QComboBox*>();
    EXPECT_EQ(other->currentIndex(), 1);
}

TEST_F(LinkedViewsTest, hoverInThePictureIsInspected) {
    auto* image = m_window->survivalPage()->findChild<SurvivalImage*>();
    Q_EMIT image->tokenHovered(6);
    EXPECT_EQ(inspected(u"Position"_qs), u"6"_qs);
    EXPECT_EQ(inspected(u"Kind"_qs), u"image"_qs);
    Q_EMIT image->tokenHovered(-1);
    EXPECT_EQ(inspected(u"Position"_qs), u"–"_qs);
}

TEST_F(LinkedViewsTest, aTokenSelectedInTheScatterIsCurrentInTheTables) {
    auto* plot = headPage()->findChild<ScatterPlot*>();
    Q_EMIT plot->tokenSelected(9);
    EXPECT_EQ(m_bench->state()->selectedToken(), 9);
    for (const QWidget* page :
         {static_cast<QWidget*>(headPage()), static_cast<QWidget*>(m_window->survivalPage())}) {
        const auto* table = page->findChild<QTableView*>();
        EXPECT_EQ(table->currentIndex().data().toInt(), 9);
    }
}

TEST_F(LinkedViewsTest, sortingTheTokensKeepsTheSelection) {
    auto* table = headPage()->findChild<QTableView*>();
    table->sortByColumn(TokenTableModel::Score, Qt::DescendingOrder);
    m_bench->state()->selectToken(4);
    const int row = table->currentIndex().row();
    EXPECT_EQ(table->model()->index(row, TokenTableModel::Token).data().toInt(), 4);
    // Numbers sort as numbers: no score is larger than the one above it.
    double above = std::numeric_limits<double>::infinity();
    for (int r = 0; r < table->model()->rowCount(); ++r) {
        const double score =
            table->model()->index(r, TokenTableModel::Score).data(Qt::UserRole).toDouble();
        if (!std::isnan(score)) {
            EXPECT_LE(score, above);
            above = score;
        }
    }
}

TEST_F(LinkedViewsTest, diversityIsChosenOnTheHeadPage) {
    QComboBox* diversity = nullptr;
    for (QComboBox* box : headPage()->findChildren<QComboBox*>()) {
        diversity = box->findText(u"Euclid"_qs) >= 0 ? box : diversity;
    }
    ASSERT_NE(diversity, nullptr);
    const auto before = m_bench->head()->view().scatter;
    diversity->setCurrentIndex(diversity->findText(u"Euclid"_qs));
    EXPECT_EQ(m_bench->head()->diversity(), analysis::DiversityKind::Euclid);
    ASSERT_TRUE(waitFor([&] { return m_bench->head()->view().scatter != before; }));
}

TEST_F(LinkedViewsTest, scoresAlongThePromptAreAnotherView) {
    auto* strip = headPage()->findChild<ScoreStripPlot*>();
    ASSERT_NE(strip, nullptr);
    EXPECT_NE(strip->figure(), nullptr);
    m_window->showPage(MainWindow::HeadPageIndex);
    EXPECT_FALSE(strip->isVisible());
    headPage()->findChild<QComboBox*>(u"headView"_qs)->setCurrentIndex(1);
    EXPECT_TRUE(strip->isVisible());
    Q_EMIT strip->tokenSelected(7);
    EXPECT_EQ(inspected(u"Position"_qs), u"7"_qs);
}

TEST_F(LinkedViewsTest, allLayersMakesTheLayerSliderIdle) {
    auto* page = m_window->survivalPage();
    auto* mode = page->findChild<QComboBox*>(u"survivalMode"_qs);
    auto* all = page->findChild<QCheckBox*>();
    const auto sliders = page->findChild<HeadSelector*>()->findChildren<QSlider*>();
    EXPECT_FALSE(all->isEnabled()); // one head has no "all layers"
    EXPECT_TRUE(sliders[0]->isEnabled());
    mode->setCurrentIndex(mode->findData(int(analysis::SurvivalMode::Count)));
    EXPECT_TRUE(all->isEnabled());
    EXPECT_FALSE(sliders[1]->isEnabled());
    all->setChecked(true);
    EXPECT_FALSE(sliders[0]->isEnabled());
    ASSERT_TRUE(waitFor([&] { return m_bench->survival()->view().query.layer == -1; }));
    EXPECT_EQ(m_bench->survival()->view().result->heads, 8);
}

TEST_F(LinkedViewsTest, theTraceIsShownAsATree) {
    const auto* tree = m_window->findChild<TracePage*>()->findChild<QTreeView*>();
    QStringList groups;
    for (int row = 0; row < tree->model()->rowCount(); ++row) {
        groups << tree->model()->index(row, 0).data().toString();
    }
    for (const char* group : {"heads", "scores", "policies", "prompt", "tensors"}) {
        EXPECT_TRUE(groups.contains(QLatin1String(group))) << group;
    }
}

TEST_F(LinkedViewsTest, theInspectorIsCopiedAsText) {
    m_bench->state()->selectToken(3);
    QPushButton* copy = nullptr;
    for (QPushButton* button : m_window->findChildren<QPushButton*>()) {
        copy = button->text() == u"Copy numbers"_qs ? button : copy;
    }
    ASSERT_NE(copy, nullptr);
    copy->click();
    EXPECT_TRUE(QGuiApplication::clipboard()->text().contains(u"Position\t3\n"_qs));
}

TEST_F(LinkedViewsTest, aTraceWithoutPoliciesSaysWhatToDo) {
    auto bare = std::make_shared<analysis::TraceDocument>(*m_bench->state()->document());
    bare->policies.clear();
    m_bench->state()->setDocument(bare);
    bool said = false;
    for (const QLabel* label : m_window->survivalPage()->findChildren<QLabel*>()) {
        said = said || label->text() == u"This trace holds no policy"_qs;
    }
    EXPECT_TRUE(said);
    EXPECT_FALSE(m_window->errorBar()->isVisible());
    EXPECT_EQ(inspected(u"Kept tokens"_qs), u"–"_qs);
}

TEST_F(LinkedViewsTest, everyPageSaysThatALayerHasNoCache) {
    auto mixed = std::make_shared<analysis::TraceDocument>(*m_bench->state()->document());
    mixed->model->linearLayers = {1, 0, 0, 0};
    m_bench->state()->setDocument(mixed);
    m_bench->state()->selectHead(0, 1);
    m_bench->state()->selectToken(7);
    ASSERT_TRUE(waitFor([&] { return m_bench->survival()->view().result->heads == 0; }));
    ASSERT_TRUE(waitFor([&] {
        const auto& figure = m_bench->head()->view().figure;
        return figure && !figure->data().instead.isEmpty();
    }));
    QStringList said;
    for (const QLabel* label : m_window->survivalPage()->findChildren<QLabel*>()) {
        said << label->text();
    }
    EXPECT_TRUE(said.contains(u"no KV cache"_qs));
    EXPECT_FALSE(said.contains(u"0 of 30"_qs)) << said.join(u" | "_qs).toStdString();
    EXPECT_EQ(inspected(u"In this head"_qs), u"no KV cache"_qs);
    EXPECT_EQ(m_window->findChild<ScoreStripPlot*>()->figure(), nullptr);
    m_bench->state()->selectHead(1, 1);
    ASSERT_TRUE(
        waitFor([&] { return m_window->findChild<ScoreStripPlot*>()->figure() != nullptr; }));
}

TEST_F(LinkedViewsTest, aDamagedPolicyIsNotTakenForNoEviction) {
    auto damaged = std::make_shared<analysis::TraceDocument>(*m_bench->state()->document());
    damaged->policies.clear();
    damaged->problems = {"/policies/0/kept has the wrong shape."};
    m_bench->state()->setDocument(damaged);
    QStringList said;
    for (const QLabel* label : m_window->survivalPage()->findChildren<QLabel*>()) {
        said << label->text();
    }
    EXPECT_TRUE(said.contains(u"/policies/0/kept has the wrong shape."_qs));
    EXPECT_FALSE(said.contains(u"This trace holds no policy"_qs));
}

TEST_F(LinkedViewsTest, theNewestOfTwoTracesWins) {
    const auto second = ecokv::test::writeSampleTrace(m_folder / "second.ecokv.h5");
    m_bench->openPath(fromPath(m_folder / "sample.ecokv.h5"));
    m_bench->openPath(fromPath(second));
    ASSERT_TRUE(waitFor([&] { return m_bench->state()->document()->path == second; }));
    QTest::qWait(50);
    EXPECT_EQ(m_bench->state()->document()->path, second);
}

TEST_F(LinkedViewsTest, openedFilesAreRemembered) {
    const QStringList recent = m_bench->settings()->recent(u"traces"_qs);
    ASSERT_EQ(recent.size(), 1);
    EXPECT_TRUE(recent[0].endsWith(u"sample.ecokv.h5"_qs));
    QStringList entries;
    for (const QMenu* menu : m_window->findChildren<QMenu*>()) {
        for (const QAction* action : menu->actions()) {
            entries << action->text();
        }
    }
    EXPECT_TRUE(entries.contains(recent[0]));
    m_bench->openPath(fromPath(m_folder / "gone.h5"));
    ASSERT_TRUE(waitFor([&] { return m_window->errorBar()->isVisible(); }));
    EXPECT_EQ(m_bench->settings()->recent(u"traces"_qs), recent); // a bad one is not listed
}

TEST_F(LinkedViewsTest, aPictureJoinsThePrompt) {
    const std::size_t before = m_window->runPanel()->config().images.size();
    m_bench->openPath(u"/pictures/receipt.png"_qs);
    const auto images = m_window->runPanel()->config().images;
    ASSERT_EQ(images.size(), before + 1);
    EXPECT_EQ(images.back(), "/pictures/receipt.png");
}

TEST_F(LinkedViewsTest, savingTheTraceMakesAReadableCopy) {
    const QSignalSpy written(m_bench->files(), &FileJobs::written);
    const auto copy = m_folder / "copy.ecokv.h5";
    m_bench->files()->saveTrace(m_bench->state()->document(), fromPath(copy));
    ASSERT_TRUE(waitFor([&] { return written.count() == 1; }));
    EXPECT_EQ(analysis::openTrace(copy)->dimensions.tokens, 30);
}

} // namespace ecokv::ui::test
