// SPDX-License-Identifier: GPL-3.0-or-later
// What all plot widgets share: palette, menu, keyboard reach, what a screen reader hears.
#include "ui/plots/head_map_plot.h"
#include "ui/plots/scatter_plot.h"
#include "ui/plots/survival_image.h"
#include "ui/plots/token_text.h"
#include "ui_plots/plot_testing.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QContextMenuEvent>
#include <QMenu>
#include <QSignalSpy>
#include <QTimer>

namespace ecokv::ui {

namespace {

std::shared_ptr<const HeadMapFigure> headMap() {
    HeadMapData data;
    data.title = QStringLiteral("Redundancy");
    data.metricLabel = QStringLiteral("redundancy r");
    data.layers = 1;
    data.kvHeads = 2;
    data.values = {0.25F, 0.75F};
    return std::make_shared<HeadMapFigure>(data, FigureSource{});
}

std::vector<std::unique_ptr<FigureWidget>> everyWidget() {
    std::vector<std::unique_ptr<FigureWidget>> widgets;
    widgets.push_back(std::make_unique<HeadMapPlot>());
    widgets.push_back(std::make_unique<ScatterPlot>());
    widgets.push_back(std::make_unique<SurvivalImage>());
    widgets.push_back(std::make_unique<TokenText>());
    return widgets;
}

/// Opens the context menu, hands its actions to `look` and closes it.
void withMenu(QWidget& widget, const std::function<void(const QList<QAction*>&)>& look) {
    bool wasOpen = false;
    QTimer::singleShot(0, &widget, [&] {
        auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
        ASSERT_NE(menu, nullptr);
        wasOpen = true;
        look(menu->actions());
        menu->close();
    });
    QContextMenuEvent event(QContextMenuEvent::Keyboard, QPoint(20, 20), QPoint(20, 20));
    QApplication::sendEvent(&widget, &event);
    EXPECT_TRUE(wasOpen);
}

QAction* actionWith(const QList<QAction*>& actions, const QString& word) {
    for (QAction* action : actions) {
        if (action->text().remove(QLatin1Char('&')).contains(word)) {
            return action;
        }
    }
    return nullptr;
}

} // namespace

TEST(FigureWidgets, areReachedByKeyboardAndNamedForScreenReaders) {
    for (const auto& widget : everyWidget()) {
        EXPECT_TRUE(widget->focusPolicy() & Qt::TabFocus);
        EXPECT_FALSE(widget->accessibleName().isEmpty());
    }
}

TEST(FigureWidgets, fitAWindowOf1280By800) {
    for (const auto& widget : everyWidget()) {
        EXPECT_LE(widget->minimumSizeHint().width(), 320);
        EXPECT_LE(widget->minimumWidth(), 320);
        EXPECT_LE(widget->minimumHeight(), 200);
    }
}

TEST(FigureWidgets, showTheirEmptyTextInBothThemes) {
    for (const auto& widget : everyWidget()) {
        widget->resize(400, 200);
        widget->setEmptyText(QStringLiteral("Press Run."));
        for (const Theme& theme : {Theme::light(), Theme::night()}) {
            widget->setPalette(theme.applicationPalette());
            const QImage image = widget->grab().toImage();
            EXPECT_EQ(image.pixelColor(2, 2), theme.background);
            EXPECT_GT(test::countNear(image, image.rect(), theme.mutedText, 60), 20);
        }
    }
}

TEST(FigureWidgets, menuOfAnEmptyPlotOffersNothingToTake) {
    for (const auto& widget : everyWidget()) {
        withMenu(*widget, [](const QList<QAction*>& actions) {
            for (const char* word : {"Copy figure", "Copy data", "Export"}) {
                QAction* action = actionWith(actions, QLatin1String(word));
                ASSERT_NE(action, nullptr) << word;
                EXPECT_FALSE(action->isEnabled()) << word;
            }
        });
    }
}

TEST(FigureWidgets, exportIsAskedForThroughTheMenu) {
    HeadMapPlot plot;
    plot.setFigure(headMap());
    QSignalSpy asked(&plot, &HeadMapPlot::exportRequested);
    withMenu(plot, [](const QList<QAction*>& actions) {
        QAction* action = actionWith(actions, QStringLiteral("Export"));
        ASSERT_NE(action, nullptr);
        EXPECT_TRUE(action->isEnabled());
        action->trigger();
    });
    EXPECT_EQ(asked.size(), 1);
}

TEST(FigureWidgets, selectedHeadIsReadOut) {
    HeadMapPlot plot;
    plot.setFigure(headMap());
    plot.setSelectedCell(0, 1);
    EXPECT_EQ(plot.accessibleDescription(), QStringLiteral("layer 0, head 1: redundancy r 0.750"));
    plot.setSelectedCell(0, 9); // not in this map
    EXPECT_TRUE(plot.accessibleDescription().isEmpty());
}

TEST(FigureWidgets, surviveAnySize) {
    for (const auto& widget : everyWidget()) {
        for (const QSize size : {QSize(1, 1), QSize(60, 30), QSize(2000, 40), QSize(40, 2000)}) {
            widget->setMinimumSize(0, 0);
            widget->resize(size);
            EXPECT_FALSE(widget->grab().isNull());
        }
    }
}

} // namespace ecokv::ui
