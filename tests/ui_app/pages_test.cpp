// SPDX-License-Identifier: GPL-3.0-or-later
#include "desktop_fixture.h"

#include "ui/pages/heads_page.h"
#include "ui/pages/plot_panel.h"
#include "ui/pages/survival_page.h"
#include "ui/plots/head_map_plot.h"
#include "ui/plots/score_strip_plot.h"

#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QLabel>
#include <QTableView>

namespace ecokv::ui::test {

namespace {

/// The texts of all visible labels below a widget.
QStringList labelTexts(const QWidget* widget) {
    QStringList texts;
    for (const QLabel* label : widget->findChildren<QLabel*>()) {
        texts << label->text();
    }
    return texts;
}

} // namespace

class PagesTest : public DesktopTest {
protected:
    void SetUp() override {
        open({sampleTrace()});
        ASSERT_TRUE(waitFor([&] { return m_bench->survival()->view().result != nullptr; }));
        ASSERT_TRUE(waitFor([&] { return m_bench->head()->view().scatter != nullptr; }));
    }
};

TEST_F(PagesTest, aClickOnTheMapSelectsTheHeadEverywhere) {
    auto* map = m_window->headsPage()->findChild<HeadMapPlot*>();
    Q_EMIT map->cellSelected(3, 1);
    EXPECT_EQ(m_bench->state()->selection().layer, 3);
    ASSERT_TRUE(waitFor([&] { return m_bench->head()->view().selection.layer == 3; }));
    ASSERT_TRUE(waitFor([&] { return m_bench->survival()->view().query.layer == 3; }));
    // 0.1 + 0.2 * 3 + 0.05
    EXPECT_TRUE(labelTexts(m_window->headsPage()).contains(u"0.75"_qs));
    auto* table = m_window->headsPage()->findChild<QTableView*>();
    EXPECT_EQ(table->currentIndex().row(), 7); // layer 3, head 1 of 2
}

TEST_F(PagesTest, aRowOfTheTableSelectsTheHeadToo) {
    auto* table = m_window->headsPage()->findChild<QTableView*>();
    table->setCurrentIndex(table->model()->index(4, 0));
    EXPECT_EQ(m_bench->state()->selection().layer, 2);
    EXPECT_EQ(m_bench->state()->selection().kvHead, 0);
}

TEST_F(PagesTest, metricsAreChosenByName) {
    m_window->headsPage()->setMetric(u"anisotropy"_qs);
    EXPECT_EQ(m_window->headsPage()->metric(), u"anisotropy"_qs);
    const auto* map = m_window->headsPage()->findChild<HeadMapPlot*>();
    EXPECT_TRUE(map->figure()->title().contains(u"nisotropy"_qs));
}

TEST_F(PagesTest, keptBudgetIsAMetric) {
    const auto* metrics = m_window->headsPage()->findChild<QComboBox*>();
    bool found = false;
    for (int i = 0; i < metrics->count(); ++i) {
        found = found || metrics->itemData(i).toString().startsWith(u"kept_budget"_qs);
    }
    EXPECT_TRUE(found);
}

TEST_F(PagesTest, survivalCountsFollowTheScope) {
    // Policy "0" keeps 13 of 30 tokens in layer 0, head 0.
    EXPECT_TRUE(labelTexts(m_window->survivalPage()).contains(u"13 of 30"_qs));
    auto* mode = m_window->survivalPage()->findChild<QComboBox*>(u"survivalMode"_qs);
    ASSERT_NE(mode, nullptr);
    mode->setCurrentIndex(mode->findData(int(analysis::SurvivalMode::Union)));
    ASSERT_TRUE(waitFor(
        [&] { return m_bench->survival()->view().query.mode == analysis::SurvivalMode::Union; }));
    // Heads 0 and 1 of layer 0 keep token % 3 == 0 or 2: 20 of 30, and of the protected 26..29
    // only 28 has remainder 1.
    EXPECT_TRUE(labelTexts(m_window->survivalPage()).contains(u"21 of 30"_qs));
}

TEST_F(PagesTest, tableTwinIsCopiedAsText) {
    auto* table = m_window->headsPage()->findChild<QTableView*>();
    table->clearSelection();
    const QStringList lines = tableText(*table).split(u'\n', Qt::SkipEmptyParts);
    ASSERT_EQ(lines.size(), 9); // a heading and 4 x 2 heads
    EXPECT_TRUE(lines[0].startsWith(u"Layer\tKV head\t"_qs));
    EXPECT_TRUE(lines[8].startsWith(u"3\t1\t"_qs));
}

TEST_F(PagesTest, hoveredTokenIsInspected) {
    const auto* inspector = m_window->findChild<QTableView*>(u"inspectorTable"_qs);
    ASSERT_NE(inspector, nullptr);
    const auto position = [&] { return inspector->model()->index(1, 1).data().toString(); };
    EXPECT_EQ(position(), u"–"_qs);
    m_bench->state()->hoverToken(9);
    EXPECT_EQ(position(), u"9"_qs);
    m_bench->state()->hoverToken(-1);
    EXPECT_EQ(position(), u"–"_qs);
}

TEST_F(PagesTest, theStripOfScoresIsLinkedBothWays) {
    auto* strip = m_window->findChild<ScoreStripPlot*>();
    ASSERT_NE(strip, nullptr);
    EXPECT_EQ(strip->visibleTokens(), std::pair(-0.5, 29.5));
    Q_EMIT strip->tokenSelected(9);
    EXPECT_EQ(m_bench->state()->selectedToken(), 9);
    m_bench->state()->hoverToken(4);
    m_bench->state()->selectHead(1, 0);
    // Importance 0.01 * (1 + (28 + 5) % 30) of layer 1; 4 + 1 is no multiple of 3: evicted.
    ASSERT_TRUE(waitFor([&] { return strip->describe(4).contains(u"importance 0.04 "_qs); }));
    EXPECT_TRUE(strip->describe(4).endsWith(u"evicted"_qs));
}

TEST_F(PagesTest, noTextIsClippedAt1280x800) {
    m_window->resize(1280, 800);
    for (int page = MainWindow::RunPage; page <= MainWindow::TracePageIndex; ++page) {
        m_window->showPage(static_cast<MainWindow::Page>(page));
        QTest::qWait(20);
        for (const QLabel* label : m_window->findChildren<QLabel*>()) {
            if (!label->isVisible() || label->wordWrap() || label->text().isEmpty() ||
                label->sizePolicy().horizontalPolicy() == QSizePolicy::Ignored) {
                continue;
            }
            EXPECT_GE(label->width(), label->sizeHint().width() - 1)
                << "page " << page << ": " << label->text().toStdString();
        }
    }
    EXPECT_LE(m_window->minimumSizeHint().width(), 1280);
    EXPECT_LE(m_window->minimumSizeHint().height(), 800);
}

} // namespace ecokv::ui::test
