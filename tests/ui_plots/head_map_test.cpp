// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "ui/plots/figure_export.h"
#include "ui/plots/head_map_plot.h"
#include "ui_plots/plot_testing.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

#include <cmath>
#include <limits>

namespace ecokv::ui {

using test::areaOf;
using test::distance;
using test::drawn;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr QSize kSize(600, 400);

std::shared_ptr<const HeadMapFigure> mapOf(int layers, int kvHeads, std::vector<float> values,
                                           ColorMap colors = ColorMap::Viridis) {
    HeadMapData data;
    data.title = QStringLiteral("Redundancy");
    data.metricLabel = QStringLiteral("redundancy r");
    data.layers = layers;
    data.kvHeads = kvHeads;
    data.values = std::move(values);
    data.colorMap = colors;
    return std::make_shared<HeadMapFigure>(data, FigureSource{QStringLiteral("demo"), {}});
}

/// Colour near the top left of a cell, where no number is printed.
QColor colorOf(const HeadMapFigure& figure, const QImage& image, const HeadCell& cell,
               const Theme& theme = Theme::light()) {
    const QRectF rect = figure.cellRect(areaOf(image.size()), theme, cell);
    return image.pixelColor(rect.topLeft().toPoint() + QPoint(3, 3));
}

/// The brightest cell of the map as drawn.
HeadCell brightestCell(const HeadMapFigure& figure, const QImage& image) {
    HeadCell best;
    double highest = -1;
    for (int layer = 0; layer < figure.data().layers; ++layer) {
        for (int kvHead = 0; kvHead < figure.data().kvHeads; ++kvHead) {
            const double now = test::brightness(colorOf(figure, image, {layer, kvHead}));
            if (now > highest) {
                highest = now;
                best = {layer, kvHead};
            }
        }
    }
    return best;
}

} // namespace

TEST(HeadMap, drawsLayerZeroOnTopAndHeadsAlongX) { // F147
    const auto figure = mapOf(2, 3, {0, 0, 1, 0, 0, 0});
    const QImage image = drawn(*figure, kSize);
    // Not through cellRect: the yellow of 1 is only in the upper half and the right third of what
    // is violet or yellow.
    QRect violet, yellow;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < 480; ++x) { // the colour bar is further right
            const QColor color = image.pixelColor(x, y);
            if (distance(color, QColor(0x440154)) < 4) {
                violet |= QRect(x, y, 1, 1);
            } else if (distance(color, QColor(0xfde725)) < 4) {
                yellow |= QRect(x, y, 1, 1);
            }
        }
    }
    const QRect map = violet | yellow;
    EXPECT_GT(yellow.left(), map.left() + map.width() / 2);
    EXPECT_EQ(yellow.right(), map.right());
    EXPECT_EQ(yellow.top(), map.top());
    EXPECT_LT(yellow.bottom(), map.center().y() + 2);
}

TEST(HeadMap, exportShowsTheSameCellsAsTheScreen) { // F147
    const auto figure = mapOf(2, 3, {0, 0, 1, 0, 0, 0});
    EXPECT_EQ(brightestCell(*figure, drawn(*figure, kSize)), (HeadCell{0, 2}));
    ExportOptions options;
    options.width = kSize.width();
    options.height = kSize.height();
    options.scale = 1;
    const QImage sheet = renderImage(*figure, options);
    const int rightHalf = test::countNear(sheet, QRect(300, 0, 200, 200), QColor(0xfde725), 4);
    const int elsewhere = test::countNear(sheet, QRect(0, 0, 300, 400), QColor(0xfde725), 4);
    EXPECT_GT(rightHalf, 1000);
    EXPECT_EQ(elsewhere, 0);
}

TEST(HeadMap, takesItsRangeFromFiniteCellsOnly) { // F143
    const auto figure = mapOf(3, 3, {kNaN, 1, 2, 3, 4, 5, 6, 7, 8});
    EXPECT_EQ(figure->range().low, 1);
    EXPECT_EQ(figure->range().high, 8);
    for (const Theme& theme : {Theme::light(), Theme::night()}) {
        const QImage image = drawn(*figure, kSize, theme);
        EXPECT_EQ(colorOf(*figure, image, {0, 1}, theme), colorAt(ColorMap::Viridis, 0));
        EXPECT_EQ(colorOf(*figure, image, {2, 2}, theme), colorAt(ColorMap::Viridis, 1));
        const QRect missing =
            figure->cellRect(areaOf(kSize), theme, {0, 0}).toRect().adjusted(2, 2, -2, -2);
        const int named = test::countNear(image, missing, theme.notMeasured, 2);
        const int all = missing.width() * missing.height();
        EXPECT_GT(named, all / 3);     // the named colour ...
        EXPECT_LT(named, all * 9 / 10) // ... with hatching on it
            << named << " of " << all;
    }
}

TEST(HeadMap, namesTheColourOfMissingCells) { // F143
    const auto missing = renderSvg(*mapOf(1, 2, {kNaN, 1}), {});
    EXPECT_TRUE(missing.contains("not measured"));
    EXPECT_FALSE(renderSvg(*mapOf(1, 2, {0, 1}), {}).contains("not measured"));
}

TEST(HeadMap, forgetsTheRangeOfTheDataBefore) { // F145
    HeadMapPlot plot;
    plot.resize(kSize);
    plot.setFigure(mapOf(1, 2, {0, 100}));
    plot.grab();
    const auto small = mapOf(1, 2, {0, 1});
    plot.setFigure(small);
    EXPECT_EQ(small->range().high, 1);
    const QImage image = plot.grab().toImage();
    // The right cell holds the highest value again: yellow, not the violet of 1 out of 100.
    EXPECT_GT(test::countNear(image, QRect(250, 80, 200, 200), QColor(0xfde725), 4), 5000);
}

TEST(HeadMap, fixedRangeWins) {
    HeadMapData data;
    data.layers = 1;
    data.kvHeads = 2;
    data.values = {0.4F, 0.5F};
    data.fixedRange = ValueRange{0, 1, false};
    const HeadMapFigure figure(data, {});
    EXPECT_EQ(colorOf(figure, drawn(figure, kSize), {0, 1}), colorAt(ColorMap::Viridis, 0.5));
}

TEST(HeadMap, divergingRangeIsSymmetric) {
    const auto figure = mapOf(1, 3, {-1, 0, 4}, ColorMap::Diverging);
    EXPECT_EQ(figure->range().low, -4);
    EXPECT_EQ(colorOf(*figure, drawn(*figure, kSize), {0, 1}), QColor(0xf7f7f7));
}

TEST(HeadMap, meansSkipMissingCells) {
    const auto figure = mapOf(2, 2, {1, kNaN, 3, 5});
    EXPECT_EQ(figure->layerMeans(), (std::vector<float>{1, 4}));
    EXPECT_EQ(figure->headMeans(), (std::vector<float>{2, 5}));
    EXPECT_TRUE(std::isnan(mapOf(1, 1, {kNaN})->layerMeans()[0]));
}

TEST(HeadMap, meansAreDrawnAsBarsInProportion) {
    // Layer means 0, 0.5 and 1 of a range 0..1: the bars beside the rows.
    const auto figure = mapOf(3, 2, {0, 0, 0, 1, 1, 1});
    const Theme theme = Theme::light();
    const QImage image = drawn(*figure, kSize);
    std::vector<int> lengths;
    for (int layer = 0; layer < 3; ++layer) {
        const QRectF cell = figure->cellRect(areaOf(kSize), theme, {layer, 1});
        const QRect row(static_cast<int>(cell.right()) + 2, static_cast<int>(cell.center().y()), 60,
                        1);
        lengths.push_back(test::countNear(image, row, theme.bar, 2));
    }
    EXPECT_LE(lengths[0], 1);
    EXPECT_NEAR(lengths[1] * 2, lengths[2], 2);
    EXPECT_GE(lengths[2], 40);
}

TEST(HeadMap, everyCellIsFoundWhereItIsDrawn) {
    const auto figure = mapOf(5, 7, std::vector<float>(35, 0.5F));
    const Theme theme = Theme::light();
    for (int layer = 0; layer < 5; ++layer) {
        for (int kvHead = 0; kvHead < 7; ++kvHead) {
            const HeadCell cell{layer, kvHead};
            const QPointF centre = figure->cellRect(areaOf(kSize), theme, cell).center();
            EXPECT_EQ(figure->cellAt(areaOf(kSize), theme, centre), cell);
        }
    }
    EXPECT_FALSE(figure->cellAt(areaOf(kSize), theme, {2, 2}));
    EXPECT_FALSE(figure->cellAt(areaOf(kSize), theme, {598, 398}));
}

TEST(HeadMap, drawsOddData) {
    EXPECT_NO_THROW(drawn(*mapOf(0, 0, {}), kSize));
    EXPECT_NO_THROW(drawn(*mapOf(2, 2, std::vector<float>(4, kNaN)), kSize));
    EXPECT_NO_THROW(drawn(*mapOf(1, 1, {7}), {40, 30})); // smaller than its margins
    const auto constant = mapOf(1, 2, {3, 3});
    EXPECT_EQ(colorOf(*constant, drawn(*constant, kSize), {0, 0}), colorAt(ColorMap::Viridis, 0.5));
}

TEST(HeadMap, refusesValuesThatDoNotFit) {
    EXPECT_THROW(mapOf(2, 3, {1, 2}), Error);
}

TEST(HeadMap, labelsEveryLayerAndHeadByItsNumber) {
    std::vector<float> values;
    for (int i = 0; i < 24; ++i) {
        values.push_back(100.0F + static_cast<float>(i));
    }
    const QByteArray svg = renderSvg(*mapOf(6, 4, values), {});
    for (const char* label : {">0<", ">1<", ">2<", ">3<", ">4<", ">5<", ">layer<", ">KV head<",
                              ">Redundancy<", ">redundancy r<"}) {
        EXPECT_TRUE(svg.contains(label)) << label;
    }
    EXPECT_FALSE(svg.contains(">6<"));
    EXPECT_FALSE(svg.contains(">0.5<")); // no half layers
}

TEST(HeadMap, printsValuesOnlyWhereTheyFit) {
    EXPECT_TRUE(renderSvg(*mapOf(1, 2, {0.125F, 0.75F}), {}).contains(">0.125<"));
    std::vector<float> many(64 * 64, 0.125F);
    many[0] = 0.75F;
    EXPECT_FALSE(renderSvg(*mapOf(64, 64, many), {}).contains(">0.125<"));
}

class HeadMapWidget : public testing::Test {
protected:
    HeadMapWidget() {
        m_plot.resize(kSize);
        m_plot.setFigure(m_figure);
    }
    QPoint centreOf(const HeadCell& cell) const {
        const QRectF area = areaOf(kSize).adjusted(12, 10, -12, -10);
        return m_figure->cellRect(area, m_plot.theme(), cell).center().toPoint();
    }

    std::shared_ptr<const HeadMapFigure> m_figure = mapOf(3, 2, {0, 1, 2, 3, kNaN, 5});
    HeadMapPlot m_plot;
};

TEST_F(HeadMapWidget, hoverNamesTheCellAndItsValue) {
    QSignalSpy hovered(&m_plot, &HeadMapPlot::cellHovered);
    test::moveMouse(m_plot, centreOf({1, 1}));
    ASSERT_EQ(hovered.size(), 1);
    EXPECT_EQ(hovered[0][0].toInt(), 1);
    EXPECT_EQ(hovered[0][1].toInt(), 1);
    EXPECT_EQ(hovered[0][2].toDouble(), 3);
    EXPECT_EQ(m_plot.toolTip(), QStringLiteral("layer 1, head 1: redundancy r 3"));
    test::moveMouse(m_plot, QPoint(2, 2));
    ASSERT_EQ(hovered.size(), 2);
    EXPECT_EQ(hovered[1][0].toInt(), -1);
}

TEST_F(HeadMapWidget, hoverSaysWhatWasNotMeasured) {
    test::moveMouse(m_plot, centreOf({2, 0}));
    EXPECT_TRUE(m_plot.toolTip().contains(QStringLiteral("not measured")));
}

TEST_F(HeadMapWidget, clickSelects) {
    QSignalSpy selected(&m_plot, &HeadMapPlot::cellSelected);
    QTest::mouseClick(&m_plot, Qt::LeftButton, {}, centreOf({2, 1}));
    ASSERT_EQ(selected.size(), 1);
    EXPECT_EQ(selected[0][0].toInt(), 2);
    EXPECT_EQ(selected[0][1].toInt(), 1);
}

TEST_F(HeadMapWidget, arrowKeysMoveTheSelectionWithinTheMap) {
    QSignalSpy selected(&m_plot, &HeadMapPlot::cellSelected);
    QTest::keyClick(&m_plot, Qt::Key_Down); // nothing selected: starts at the first head
    QTest::keyClick(&m_plot, Qt::Key_Down);
    QTest::keyClick(&m_plot, Qt::Key_Right);
    QTest::keyClick(&m_plot, Qt::Key_Right); // stays at the edge
    ASSERT_EQ(selected.size(), 4);
    EXPECT_EQ(selected[0][0].toInt(), 0);
    EXPECT_EQ(selected[1][0].toInt(), 1);
    EXPECT_EQ(selected[3][0].toInt(), 1);
    EXPECT_EQ(selected[3][1].toInt(), 1);
}

TEST_F(HeadMapWidget, selectionFromElsewhereIsFramedAndTellsNobody) {
    QSignalSpy selected(&m_plot, &HeadMapPlot::cellSelected);
    const QImage before = m_plot.grab().toImage();
    m_plot.setSelectedCell(1, 0);
    const QImage after = m_plot.grab().toImage();
    EXPECT_EQ(selected.size(), 0);
    const QRect all = after.rect();
    EXPECT_EQ(test::countNear(before, all, m_plot.theme().accent, 2), 0);
    EXPECT_GT(test::countNear(after, all, m_plot.theme().accent, 30), 200);
}

TEST_F(HeadMapWidget, dropsASelectionThatTheNewMapLacks) {
    m_plot.setSelectedCell(2, 1);
    m_plot.setFigure(mapOf(1, 1, {1}));
    const QImage image = m_plot.grab().toImage();
    EXPECT_EQ(test::countNear(image, image.rect(), m_plot.theme().accent, 2), 0);
}

TEST_F(HeadMapWidget, emptyStateSaysWhatToDo) {
    m_plot.setFigure(nullptr);
    m_plot.setEmptyText(QStringLiteral("Run a model to see its heads."));
    const QImage image = m_plot.grab().toImage();
    EXPECT_GT(test::colorsIn(image, image.rect()).size(), 5U); // antialiased text
    test::moveMouse(m_plot, QPoint(100, 100));
    QTest::keyClick(&m_plot, Qt::Key_Down);
}

TEST_F(HeadMapWidget, followsADarkPalette) {
    m_plot.setPalette(Theme::night().applicationPalette());
    EXPECT_TRUE(m_plot.theme().dark);
    EXPECT_EQ(m_plot.grab().toImage().pixelColor(1, 1), Theme::night().background);
}

} // namespace ecokv::ui
