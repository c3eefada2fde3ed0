// SPDX-License-Identifier: GPL-3.0-or-later
// The small widgets of the pages, each on its own.
#include "ui/models/token_table_model.h"
#include "ui/pages/answer_pane.h"
#include "ui/pages/elided_label.h"
#include "ui/pages/empty_state.h"
#include "ui/pages/error_bar.h"
#include "ui/pages/generation_form.h"
#include "ui/pages/ledger_view.h"
#include "ui/pages/plot_panel.h"
#include "ui/pages/stat_tile.h"
#include "ui/pages/timeline_panel.h"
#include "ui/plots/head_map_plot.h"

#include <gtest/gtest.h>

#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QStandardItemModel>
#include <QTableView>
#include <QTest>
#include <QTextEdit>
#include <QToolButton>

namespace ecokv::ui {

namespace {

QToolButton* buttonNamed(const QWidget& widget, const QString& text) {
    for (QToolButton* button : widget.findChildren<QToolButton*>()) {
        if (button->text() == text) {
            return button;
        }
    }
    return nullptr;
}

std::shared_ptr<const HeadMapFigure> smallMap() {
    HeadMapData data;
    data.title = u"Map"_qs;
    data.layers = 1;
    data.kvHeads = 2;
    data.values = {1, 2};
    return std::make_shared<const HeadMapFigure>(
        data, FigureSource{u"here"_qs, [] { return u"a,b\n"_qs; }});
}

} // namespace

TEST(ElidedLabel, neverAsksForWidthAndTellsTheRest) {
    ElidedLabel label(u"a text that is far too long for sixty pixels"_qs);
    EXPECT_EQ(label.minimumSizeHint().width(), 0);
    label.resize(60, 20);
    label.show();
    EXPECT_TRUE(label.text().endsWith(u"…"_qs));
    EXPECT_EQ(label.toolTip(), label.fullText());
    label.resize(900, 20);
    EXPECT_EQ(label.text(), label.fullText());
    EXPECT_EQ(label.toolTip(), QString());
}

TEST(StatTile, widthDoesNotDependOnTheNumber) {
    StatTile tile(u"tokens"_qs);
    const int before = tile.minimumSizeHint().width();
    tile.setValue(u"123456789012345678901234567890"_qs, u"a very long explanation of it"_qs);
    EXPECT_EQ(tile.minimumSizeHint().width(), before);
    EXPECT_TRUE(tile.accessibleName().startsWith(u"tokens: 1234"_qs));
}

TEST(EmptyState, offersTheNextStep) {
    EmptyState empty({u"Title"_qs, u"What to do next."_qs, u"Run"_qs});
    const QSignalSpy requested(&empty, &EmptyState::actionRequested);
    auto* button = empty.findChild<QPushButton*>();
    EXPECT_EQ(button->text(), u"Run"_qs);
    button->click();
    EXPECT_EQ(requested.count(), 1);
    empty.setText({u"Title"_qs, u"Nothing can be done."_qs, {}});
    EXPECT_TRUE(button->isHidden());
}

TEST(EmptyState, isNotClippedInASmallPage) {
    EmptyState empty({u"Title"_qs,
                      u"A sentence that needs two lines because it says what the page is for and "
                      u"what the user could do next to see something here."_qs,
                      u"Run"_qs});
    empty.resize(700, 320);
    empty.show();
    for (const QLabel* label : empty.findChildren<QLabel*>()) {
        EXPECT_GE(label->height(), label->heightForWidth(label->width()));
    }
}

TEST(ErrorBar, showsTheNewestAndCopiesItsDetails) {
    ErrorBar bar;
    EXPECT_TRUE(bar.isHidden());
    bar.showFailure({u"First."_qs, {}, u"first details"_qs, false});
    bar.showFailure({u"Second."_qs, u"Do this."_qs, u"second details"_qs, false});
    EXPECT_FALSE(bar.isHidden());
    EXPECT_TRUE(bar.accessibleName().contains(u"Second."_qs));
    const auto buttons = bar.findChildren<QPushButton*>();
    ASSERT_EQ(buttons.size(), 2);
    buttons[0]->click();
    EXPECT_EQ(QGuiApplication::clipboard()->text(), u"second details"_qs);
    buttons[1]->click();
    EXPECT_TRUE(bar.isHidden());
}

TEST(AnswerPane, marksFromTheDifferenceToTheEnd) {
    AnswerPane pane(u"Policy"_qs);
    pane.append(u"total "_qs);
    pane.append(u"413"_qs);
    EXPECT_EQ(pane.answer(), u"total 413"_qs);
    pane.setDifference(7);
    const auto* text = pane.findChild<QTextEdit*>();
    const auto marks = text->extraSelections();
    ASSERT_EQ(marks.size(), 1);
    EXPECT_EQ(marks[0].cursor.selectedText(), u"13"_qs);
    pane.setDifference(-1);
    EXPECT_TRUE(text->extraSelections().isEmpty());
    pane.clear();
    EXPECT_EQ(pane.answer(), QString());
}

TEST(AnswerPane, keepsMarkupOfAModelAsText) {
    AnswerPane pane(u"Policy"_qs);
    pane.setAnswer(u"<b>bold</b> & <img src=x>"_qs);
    EXPECT_EQ(pane.findChild<QTextEdit*>()->toPlainText(), u"<b>bold</b> & <img src=x>"_qs);
}

TEST(AnswerPane, verdictIsWordsNotColourAlone) {
    AnswerPane pane(u"Policy"_qs);
    pane.setVerdict(u"✗ wrong, should be 473"_qs, false);
    bool found = false;
    for (const QLabel* label : pane.findChildren<QLabel*>()) {
        found = found || (!label->isHidden() && label->text().contains(u"wrong"_qs));
    }
    EXPECT_TRUE(found);
}

TEST(LedgerView, saysRangesWhenHeadsDiffer) {
    LedgerView view;
    session::Ledger ledger;
    ledger.keptTokens = {{4, 8}, {6, 6}};
    ledger.promptTokens = 24;
    ledger.protectedTokens = 3;
    ledger.keptBytes = 1 << 20;
    ledger.fullBytes = 4 << 20;
    view.showLedger(ledger, 10);
    QStringList names;
    for (const StatTile* tile : view.findChildren<StatTile*>()) {
        names << tile->accessibleName();
    }
    const QString all = names.join(u'\n');
    EXPECT_TRUE(all.contains(u"4 to 8"_qs)) << all.toStdString();
    EXPECT_TRUE(all.contains(u"1.0 MB"_qs));
    EXPECT_TRUE(all.contains(u"75 %"_qs));
    EXPECT_EQ(view.findChild<QTableView*>()->model()->rowCount(), 2);
    view.clear();
    EXPECT_EQ(view.findChild<QTableView*>()->model()->rowCount(), 0);
}

TEST(TimelinePanel, logsEachStageOnceWithItsTime) {
    TimelinePanel panel;
    auto* bar = panel.findChild<QProgressBar*>();
    EXPECT_FALSE(bar->isVisibleTo(&panel)); // an idle one is no empty frame
    panel.begin(u"Run started."_qs);
    ProgressView view;
    view.stage = u"Prefill"_qs;
    view.percent = 10;
    panel.showProgress(view);
    view.percent = 60;
    panel.showProgress(view);
    EXPECT_EQ(bar->value(), 60);
    EXPECT_TRUE(bar->isVisibleTo(&panel));
    EXPECT_EQ(panel.logText().count(u"Prefill"_qs), 1);
    panel.end(u"Run finished."_qs);
    EXPECT_FALSE(bar->isVisibleTo(&panel));
    EXPECT_EQ(panel.logText().count(u'\n'), 2);
}

TEST(TimelinePanel, unknownLengthIsABusyBar) {
    TimelinePanel panel;
    ProgressView view;
    view.stage = u"Loading"_qs;
    panel.showProgress(view);
    EXPECT_EQ(panel.findChild<QProgressBar*>()->maximum(), 0);
}

TEST(PlotPanel, switchesToItsTableTwin) {
    auto* table = makeTable();
    auto* model = new QStandardItemModel(2, 1, table);
    model->setItem(0, 0, new QStandardItem(u"x"_qs));
    model->setItem(1, 0, new QStandardItem(u"y"_qs));
    model->setHorizontalHeaderLabels({u"Letter"_qs});
    table->setModel(model);
    PlotPanel panel(new HeadMapPlot, table);
    EXPECT_FALSE(panel.showsTable());
    buttonNamed(panel, u"Table"_qs)->click();
    EXPECT_TRUE(panel.showsTable());
    buttonNamed(panel, u"Copy"_qs)->click();
    EXPECT_EQ(QGuiApplication::clipboard()->text(), u"Letter\nx\ny\n"_qs);
    table->selectRow(1);
    buttonNamed(panel, u"Copy"_qs)->click();
    EXPECT_EQ(QGuiApplication::clipboard()->text(), u"Letter\ny\n"_qs);
}

TEST(PlotPanel, asksToExportOnlyWhatThereIs) {
    auto* plot = new HeadMapPlot;
    PlotPanel panel(plot, nullptr);
    const QSignalSpy requested(&panel, &PlotPanel::exportRequested);
    buttonNamed(panel, u"Export…"_qs)->click();
    EXPECT_EQ(requested.count(), 0);
    plot->setFigure(smallMap());
    buttonNamed(panel, u"Export…"_qs)->click();
    EXPECT_EQ(requested.count(), 1);
    EXPECT_EQ(buttonNamed(panel, u"Table"_qs), nullptr);
}

TEST(PlotPanel, controlsKeepTheirOrder) {
    PlotPanel panel(new HeadMapPlot, nullptr);
    auto* first = new QLabel(u"first"_qs);
    auto* second = new QComboBox;
    panel.addControl(first);
    panel.addControl(second);
    panel.resize(600, 300);
    panel.show();
    EXPECT_LT(first->x(), second->x());
}

TEST(PlotPanel, copiesThePicture) {
    auto* plot = new HeadMapPlot;
    PlotPanel panel(plot, nullptr);
    plot->setFigure(smallMap());
    QGuiApplication::clipboard()->clear();
    buttonNamed(panel, u"Copy"_qs)->click();
    EXPECT_FALSE(QGuiApplication::clipboard()->image().isNull());
}

TEST(GenerationForm, greedyIsSaidInWords) {
    GenerationForm form;
    session::RunConfig config;
    config.temperature = 0.0;
    form.setConfig(config);
    bool found = false;
    for (const QAbstractSpinBox* box : form.findChildren<QAbstractSpinBox*>()) {
        found = found || box->text().contains(u"greedy"_qs);
    }
    EXPECT_TRUE(found);
}

} // namespace ecokv::ui
