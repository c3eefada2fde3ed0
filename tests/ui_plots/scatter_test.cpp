// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/figure_export.h"
#include "ui/plots/marker.h"
#include "ui/plots/scatter_plot.h"
#include "ui_plots/plot_testing.h"

#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>

#include <cmath>
#include <limits>

namespace ecokv::ui {

using test::areaOf;
using test::drawn;

namespace {

constexpr QSize kSize(700, 500);
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::shared_ptr<const ScatterFigure> scatterOf(std::vector<ScatterMark> marks, bool logX = false) {
    ScatterData data;
    data.title = QStringLiteral("Layer 2, head 1");
    data.xLabel = QStringLiteral("importance");
    data.yLabel = QStringLiteral("diversity");
    data.marks = std::move(marks);
    data.logX = logX;
    for (const ScatterMark& mark : data.marks) {
        data.labels.push_back(QStringLiteral("token %1").arg(mark.token));
    }
    return std::make_shared<ScatterFigure>(data, FigureSource{});
}

QPointF placeOf(const ScatterFigure& figure, std::size_t mark) {
    const QRectF plot = figure.plotRect(areaOf(kSize), Theme::light());
    return figure.position(mark, plot, figure.fullView()).value();
}

QRect around(const QPointF& centre, int reach) {
    return QRect(centre.toPoint() - QPoint(reach, reach), QSize(2 * reach + 1, 2 * reach + 1));
}

std::vector<ScatterMark> manyMarks(int count) {
    std::vector<ScatterMark> marks;
    for (int i = 0; i < count; ++i) { // a low-discrepancy cloud
        const auto n = static_cast<float>(i);
        marks.push_back({i, std::fmod(n * 0.754878F, 1.0F) + 1e-4F, std::fmod(n * 0.56984F, 1.0F),
                         static_cast<TokenKind>(i % 3), i % 5 == 0});
    }
    return marks;
}

} // namespace

TEST(Scatter, putsHighImportanceRightAndHighDiversityUp) {
    const auto figure = scatterOf({{0, 0, 0}, {1, 1, 0}, {2, 0, 1}});
    EXPECT_GT(placeOf(*figure, 1).x(), placeOf(*figure, 0).x() + 100);
    EXPECT_LT(placeOf(*figure, 2).y(), placeOf(*figure, 0).y() - 100);
}

TEST(Scatter, survivorsAreFilledAndEvictedAreHollow) { // fill says it, not hue alone
    const auto figure = scatterOf({{0, 0.2F, 0.33F, TokenKind::Image, true},
                                   {1, 0.83F, 0.77F, TokenKind::Image, false},
                                   {2, 0.0F, 0.0F, TokenKind::Text, false},
                                   {3, 1.0F, 1.0F, TokenKind::Text, false}});
    for (const Theme& theme : {Theme::light(), Theme::night()}) {
        const QImage image = drawn(*figure, kSize, theme);
        EXPECT_EQ(image.pixelColor(placeOf(*figure, 0).toPoint()), theme.kept);
        EXPECT_EQ(image.pixelColor(placeOf(*figure, 1).toPoint()), theme.background);
        EXPECT_GT(test::countNear(image, around(placeOf(*figure, 1), 5), theme.evicted, 60), 8);
    }
}

TEST(Scatter, kindsDifferInShape) {
    // Corners of the bounding square: only a square reaches them; the tips of the diamond reach
    // further than the circle.
    const auto inkAt = [](TokenKind kind, const QPointF& offset) {
        QImage image(41, 41, QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        painter.setRenderHint(QPainter::Antialiasing, true);
        drawMarker(painter, Theme::light(), {20.5, 20.5}, 20, {kind, true});
        painter.end();
        return image.pixelColor((QPointF(20.5, 20.5) + offset).toPoint()) == Theme::light().kept;
    };
    const QPointF corner(7.5, 7.5), tip(-0.5, 10.6);
    EXPECT_TRUE(inkAt(TokenKind::Image, corner));
    EXPECT_FALSE(inkAt(TokenKind::Text, corner));
    EXPECT_FALSE(inkAt(TokenKind::Special, corner));
    EXPECT_TRUE(inkAt(TokenKind::Special, tip));
    EXPECT_FALSE(inkAt(TokenKind::Text, tip));
}

TEST(Scatter, zerosOfALogAxisGetTheirOwnLane) { // F146
    const auto figure = scatterOf({{0, 0, 0.5F}, {1, 1e-6F, 0.5F}, {2, 1, 0.5F}}, true);
    EXPECT_LT(placeOf(*figure, 0).x(), placeOf(*figure, 1).x() - 10);
    // 1e-6 to 1 are six decades: the two others are where a log axis puts them.
    const double decade = (placeOf(*figure, 2).x() - placeOf(*figure, 1).x()) / 6;
    const QRectF plot = figure->plotRect(areaOf(kSize), Theme::light());
    EXPECT_NEAR(decade, plot.width() / (figure->fullView().x1 - figure->fullView().x0), 1e-3);
    EXPECT_TRUE(renderSvg(*figure, {}).contains(">0<"));
    EXPECT_FALSE(renderSvg(*scatterOf({{0, 1e-3F, 0.5F}, {1, 1, 0.5F}}, true), {}).contains(">0<"));
}

TEST(Scatter, leavesOutWhatHasNoPlace) {
    const auto figure =
        scatterOf({{0, kNaN, 0.5F}, {1, 0.5F, kNaN}, {2, 0.1F, 0.2F}, {3, 0.9F, 0.8F}});
    const QRectF plot = figure->plotRect(areaOf(kSize), Theme::light());
    EXPECT_FALSE(figure->position(0, plot, figure->fullView()));
    EXPECT_FALSE(figure->position(1, plot, figure->fullView()));
    EXPECT_NEAR(figure->fullView().x0, 0.1 - 0.04 * 0.8, 1e-6);
}

TEST(Scatter, drawsOddData) {
    EXPECT_NO_THROW(drawn(*scatterOf({}), kSize));
    EXPECT_NO_THROW(drawn(*scatterOf({}, true), kSize));
    EXPECT_NO_THROW(drawn(*scatterOf({{0, 0, 0}}, true), kSize));
    EXPECT_NO_THROW(drawn(*scatterOf({{0, 0.5F, 0.5F}, {1, 0.5F, 0.5F}}), kSize));
}

TEST(Scatter, picksTheNearestMarkWithinReach) {
    const auto figure = scatterOf({{7, 0, 0}, {8, 0.5F, 0.5F}, {9, 1, 1}});
    const QRectF plot = figure->plotRect(areaOf(kSize), Theme::light());
    const QPointF place = placeOf(*figure, 1);
    EXPECT_EQ(figure->markAt(place + QPointF(5, 2), plot, figure->fullView(), 9), 1U);
    EXPECT_FALSE(figure->markAt(place + QPointF(12, 0), plot, figure->fullView(), 9));
}

TEST(Scatter, marginalsCountTheMarks) {
    // 10 marks on the left, 5 on the right: the right column of the histogram is half as high.
    std::vector<ScatterMark> marks;
    for (int i = 0; i < 15; ++i) {
        marks.push_back({i, i < 10 ? 0.0F : 1.0F, static_cast<float>(i) / 14});
    }
    const auto figure = scatterOf(marks);
    const Theme theme = Theme::light();
    const QImage image = drawn(*figure, kSize, theme);
    const QRectF plot = figure->plotRect(areaOf(kSize), theme);
    const auto heightAt = [&](double x) {
        const QRect column(static_cast<int>(x), static_cast<int>(plot.top()) - 62, 1, 60);
        return test::countNear(image, column, theme.bar, 2);
    };
    EXPECT_NEAR(heightAt(placeOf(*figure, 0).x()), 54, 1);
    EXPECT_NEAR(heightAt(placeOf(*figure, 14).x()), 27, 1);
    EXPECT_EQ(heightAt(plot.center().x()), 0);
}

TEST(Scatter, stampedMarksLookLikeDrawnOnes) {
    // 3000 marks switch to stamps; the one alone at the left must look like the drawn one.
    const auto inkOf = [](int count, double scale) {
        auto marks = manyMarks(count);
        for (ScatterMark& mark : marks) {
            mark.x = 0.5F + mark.x / 4;
        }
        marks.push_back({5000, 0.02F, 0.5F, TokenKind::Image, true});
        const auto figure = scatterOf(marks);
        const QImage image = drawn(*figure, kSize, Theme::light(), scale);
        const QPointF place = placeOf(*figure, marks.size() - 1) * scale;
        EXPECT_EQ(image.pixelColor(place.toPoint()), Theme::light().kept);
        return test::countNear(image, around(place, static_cast<int>(6 * scale)),
                               Theme::light().kept, 110);
    };
    for (const double scale : {1.0, 2.0}) {
        EXPECT_NEAR(inkOf(3000, scale), inkOf(2500, scale), 10 * scale);
    }
}

TEST(Scatter, hundredThousandMarksStayFluid) {
    const auto figure = scatterOf(manyMarks(100000), true);
    QElapsedTimer timer;
    timer.start();
    drawn(*figure, {1280, 800});
    EXPECT_LT(timer.elapsed(), 1000); // 40 ms on an idle core
    const QRectF plot = figure->plotRect(areaOf({1280, 800}), Theme::light());
    timer.restart();
    EXPECT_TRUE(figure->markAt(plot.center(), plot, figure->fullView(), 20));
    EXPECT_LT(timer.elapsed(), 200); // 2 ms on an idle core
}

class ScatterWidget : public testing::Test {
protected:
    ScatterWidget() {
        m_plot.resize(kSize);
        m_plot.setFigure(m_figure);
    }
    QPointF onScreen(std::size_t mark) const {
        const QRectF area = areaOf(kSize).adjusted(12, 10, -12, -10);
        return m_figure
            ->position(mark, m_figure->plotRect(area, m_plot.theme()), m_figure->fullView())
            .value();
    }

    std::shared_ptr<const ScatterFigure> m_figure =
        scatterOf({{20, 0.1F, 0.1F}, {21, 0.5F, 0.5F, TokenKind::Image, true}, {22, 0.9F, 0.9F}});
    ScatterPlot m_plot;
};

TEST_F(ScatterWidget, hoverAndClickNameTheToken) {
    QSignalSpy hovered(&m_plot, &ScatterPlot::tokenHovered);
    QSignalSpy selected(&m_plot, &ScatterPlot::tokenSelected);
    test::moveMouse(m_plot, onScreen(1) + QPointF(3, 3));
    QTest::mouseClick(&m_plot, Qt::LeftButton, {}, onScreen(2).toPoint());
    test::moveMouse(m_plot, {2, 2});
    ASSERT_EQ(hovered.size(), 2);
    EXPECT_EQ(hovered[0][0].toLongLong(), 21);
    EXPECT_EQ(hovered[1][0].toLongLong(), -1);
    ASSERT_EQ(selected.size(), 1);
    EXPECT_EQ(selected[0][0].toLongLong(), 22);
}

TEST_F(ScatterWidget, zoomKeepsTheMarkUnderTheCursor) {
    QSignalSpy hovered(&m_plot, &ScatterPlot::tokenHovered);
    test::turnWheel(m_plot, onScreen(1), 3);
    test::moveMouse(m_plot, onScreen(1));
    ASSERT_EQ(hovered.size(), 1);
    EXPECT_EQ(hovered[0][0].toLongLong(), 21);
    test::moveMouse(m_plot, onScreen(2)); // zoomed out of sight
    EXPECT_EQ(hovered.back()[0].toLongLong(), -1);
    QTest::mouseDClick(&m_plot, Qt::LeftButton, {}, {300, 300}); // shows all again
    test::moveMouse(m_plot, onScreen(2));
    EXPECT_EQ(hovered.back()[0].toLongLong(), 22);
}

TEST_F(ScatterWidget, dragPansAndSelectsNothing) {
    QSignalSpy selected(&m_plot, &ScatterPlot::tokenSelected);
    QSignalSpy hovered(&m_plot, &ScatterPlot::tokenHovered);
    const QPoint from = onScreen(1).toPoint();
    QTest::mousePress(&m_plot, Qt::LeftButton, {}, from);
    test::moveMouse(m_plot, from + QPoint(50, -30), Qt::LeftButton);
    QTest::mouseRelease(&m_plot, Qt::LeftButton, {}, from + QPoint(50, -30));
    EXPECT_EQ(selected.size(), 0);
    test::moveMouse(m_plot, onScreen(1) + QPointF(50, -30));
    ASSERT_GE(hovered.size(), 1);
    EXPECT_EQ(hovered.back()[0].toLongLong(), 21);
}

TEST_F(ScatterWidget, hoverFromElsewhereIsRinged) {
    const QImage before = m_plot.grab().toImage();
    m_plot.setHoveredToken(20);
    const QImage after = m_plot.grab().toImage();
    const QRect ring = around(onScreen(0), 12);
    EXPECT_EQ(test::countNear(before, ring, m_plot.theme().accent, 30), 0);
    EXPECT_GT(test::countNear(after, ring, m_plot.theme().accent, 60), 20);
    m_plot.setHoveredToken(99); // a token this head has no score for
    EXPECT_EQ(m_plot.grab().toImage(), before);
}

TEST_F(ScatterWidget, standsWithoutAFigure) {
    m_plot.setFigure(nullptr);
    m_plot.grab();
    test::moveMouse(m_plot, {100, 100});
    test::turnWheel(m_plot, {100, 100}, 2);
    QTest::mouseClick(&m_plot, Qt::LeftButton, {}, {100, 100});
    QTest::keyClick(&m_plot, Qt::Key_Plus);
    EXPECT_EQ(m_plot.figure(), nullptr);
}

} // namespace ecokv::ui
