// SPDX-License-Identifier: GPL-3.0-or-later
#include "support/sample_trace.h"
#include "ui/plots/figure_export.h"
#include "ui/plots/score_strip_plot.h"
#include "ui_plots/plot_testing.h"

#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QFile>
#include <QSignalSpy>
#include <QTest>

#include <cmath>
#include <limits>
#include <thread>

namespace ecokv::ui {

using test::countNear;
using test::moveMouse;
using test::turnWheel;

namespace {

constexpr QSize kSize(800, 260);
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::shared_ptr<const ScoreStripData> dataOf(analysis::TokenSeries series) {
    return std::make_shared<ScoreStripData>(
        ScoreStripData{std::make_shared<analysis::TraceDocument>(), std::move(series)});
}

/// All three scores the same; kept where `keeps` says so.
template <class Value, class Keeps>
std::shared_ptr<const ScoreStripData> madeData(std::size_t size, Value value, Keeps keeps) {
    analysis::TokenSeries series;
    for (std::size_t i = 0; i < size; ++i) {
        series.importance.push_back(value(i));
        series.kept.push_back(keeps(i) ? 1 : 0);
    }
    series.diversity = series.score = series.importance;
    return dataOf(std::move(series));
}

/// The child QCustomPlot, which receives the mouse.
QWidget& canvasOf(ScoreStripPlot& plot) {
    for (QWidget* child : plot.findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
        if (child->inherits("QCustomPlot")) {
            return *child;
        }
    }
    throw std::logic_error("the strip has no canvas");
}

/// As on the screen, after the redraws that wait.
QImage shown(QWidget& widget) {
    widget.grab(); // lays out
    QCoreApplication::processEvents();
    return widget.grab().toImage();
}

/// Leftmost and rightmost column of a picture with pixels near a colour.
std::pair<int, int> extentOf(const QImage& image, const QColor& color, int tolerance) {
    int left = image.width(), right = -1;
    for (int x = 0; x < image.width(); ++x) {
        if (countNear(image, QRect(x, 0, 1, image.height()), color, tolerance) > 0) {
            left = std::min(left, x);
            right = x;
        }
    }
    return {left, right};
}

} // namespace

class ScoreStripOfSample : public testing::Test {
protected:
    void SetUp() override {
        m_plot.resize(kSize);
        m_plot.setData(std::make_shared<ScoreStripData>(
            ScoreStripData{m_document, analysis::tokenSeries(*m_document, "0", 0, 0)}));
        shown(m_plot); // lays the panels out
    }

    /// Middle of a token's column in the canvas, by search with the mouse.
    QPointF placeOf(qint64 token) {
        QWidget& canvas = canvasOf(m_plot);
        const QSignalSpy hovered(&m_plot, &ScoreStripPlot::tokenHovered);
        int first = -1, last = -1;
        for (int x = 0; x < canvas.width(); ++x) {
            moveMouse(canvas, QPointF(x, canvas.height() / 2));
            if (!hovered.isEmpty() && hovered.last()[0].toLongLong() == token) {
                first = first < 0 ? x : first;
                last = x;
            }
        }
        return QPointF((first + last) / 2, canvas.height() / 2);
    }

    ecokv::test::TemporaryFolder m_folder;
    std::shared_ptr<const analysis::TraceDocument> m_document =
        analysis::openTrace(ecokv::test::writeSampleTrace(m_folder / "a.ecokv.h5"));
    ScoreStripPlot m_plot;
};

TEST_F(ScoreStripOfSample, hoverNamesEachTokenOnceFromLeftToRight) {
    QWidget& canvas = canvasOf(m_plot);
    const QSignalSpy hovered(&m_plot, &ScoreStripPlot::tokenHovered);
    for (int x = 0; x < canvas.width(); ++x) {
        moveMouse(canvas, QPointF(x, canvas.height() / 2));
    }
    std::vector<qint64> tokens;
    for (const auto& arguments : hovered) {
        tokens.push_back(arguments[0].toLongLong());
    }
    ASSERT_EQ(tokens.size(), 31U); // 30 tokens, then -1 right of them
    for (qint64 token = 0; token < 30; ++token) {
        EXPECT_EQ(tokens[static_cast<std::size_t>(token)], token);
    }
    EXPECT_EQ(tokens.back(), -1);
}

// Importance 0.01 * (1 + 7 * 7 % 30) = 0.2, diversity 77 % 30 / 29 = 17 / 29, score their mean;
// 7 % 3 != 0: evicted.
TEST_F(ScoreStripOfSample, aTokenIsDescribedByTextValuesAndFate) {
    const QString text = m_plot.describe(7);
    EXPECT_TRUE(text.contains(u"image 1, patch 3"_qs)) << text.toStdString();
    EXPECT_TRUE(text.contains(u"importance 0.2 "_qs)) << text.toStdString();
    EXPECT_TRUE(text.contains(u"diversity 0.586"_qs)) << text.toStdString();
    EXPECT_TRUE(text.contains(u"score 0.393"_qs)) << text.toStdString();
    EXPECT_TRUE(text.endsWith(u"evicted"_qs)) << text.toStdString();
    EXPECT_TRUE(m_plot.describe(18).endsWith(u"kept"_qs));
    EXPECT_TRUE(m_plot.describe(27).contains(u"score – · protected"_qs));
    EXPECT_EQ(m_plot.describe(30), QString());
}

TEST_F(ScoreStripOfSample, aClickSelectsAndADragDoesNot) {
    const QPoint at = placeOf(12).toPoint();
    QSignalSpy selected(&m_plot, &ScoreStripPlot::tokenSelected);
    QTest::mouseClick(&canvasOf(m_plot), Qt::LeftButton, {}, at);
    ASSERT_EQ(selected.size(), 1);
    EXPECT_EQ(selected[0][0].toLongLong(), 12);
    turnWheel(canvasOf(m_plot), at, 4);
    const auto before = m_plot.visibleTokens();
    QTest::mousePress(&canvasOf(m_plot), Qt::LeftButton, {}, at);
    moveMouse(canvasOf(m_plot), at + QPoint(60, 0), Qt::LeftButton);
    QTest::mouseRelease(&canvasOf(m_plot), Qt::LeftButton, {}, at + QPoint(60, 0));
    EXPECT_EQ(selected.size(), 1);
    EXPECT_LT(m_plot.visibleTokens().first, before.first); // what was left comes into view
}

TEST_F(ScoreStripOfSample, theWheelZoomsAtTheCursorAndADoubleClickShowsAll) {
    const QPoint at = placeOf(20).toPoint();
    turnWheel(canvasOf(m_plot), at, 3);
    const auto [first, last] = m_plot.visibleTokens();
    EXPECT_LT(last - first, 25);
    EXPECT_GT(first, -0.5);
    const QSignalSpy hovered(&m_plot, &ScoreStripPlot::tokenHovered);
    shown(m_plot);
    moveMouse(canvasOf(m_plot), at + QPoint(1, 0));
    EXPECT_TRUE(hovered.isEmpty() || hovered.last()[0].toLongLong() == 20);
    QTest::mouseDClick(&canvasOf(m_plot), Qt::LeftButton, {}, at);
    EXPECT_EQ(m_plot.visibleTokens(), std::pair(-0.5, 29.5));
}

TEST_F(ScoreStripOfSample, keysZoomPanAndSelect) {
    for (int i = 0; i < 20; ++i) {
        QTest::keyClick(&m_plot, Qt::Key_Plus);
    }
    EXPECT_NEAR(m_plot.visibleTokens().second - m_plot.visibleTokens().first, 8, 1e-9); // no closer
    QTest::keyClick(&m_plot, Qt::Key_Home);
    EXPECT_EQ(m_plot.visibleTokens(), std::pair(-0.5, 7.5));
    QTest::keyClick(&m_plot, Qt::Key_End);
    EXPECT_EQ(m_plot.visibleTokens(), std::pair(21.5, 29.5));
    QTest::keyClick(&m_plot, Qt::Key_Left);
    EXPECT_NEAR(m_plot.visibleTokens().first, 20.7, 1e-9); // a tenth of 8
    m_plot.setSelectedToken(3);
    QSignalSpy selected(&m_plot, &ScoreStripPlot::tokenSelected);
    QTest::keyClick(&m_plot, Qt::Key_Right, Qt::ShiftModifier);
    ASSERT_EQ(selected.size(), 1);
    EXPECT_EQ(selected[0][0].toLongLong(), 4);
    EXPECT_LE(m_plot.visibleTokens().first, 4); // and comes into view
    EXPECT_GE(m_plot.visibleTokens().second, 4);
    QTest::keyClick(&m_plot, Qt::Key_0);
    EXPECT_EQ(m_plot.visibleTokens(), std::pair(-0.5, 29.5));
}

TEST_F(ScoreStripOfSample, zoomStaysForAnotherHeadAndIsResetForAnotherPrompt) {
    QTest::keyClick(&m_plot, Qt::Key_Plus);
    const auto zoomed = m_plot.visibleTokens();
    m_plot.setData(std::make_shared<ScoreStripData>(
        ScoreStripData{m_document, analysis::tokenSeries(*m_document, "1", 3, 1)}));
    EXPECT_EQ(m_plot.visibleTokens(), zoomed);
    m_plot.setData(madeData(
        50, [](std::size_t) { return 0.5F; }, [](std::size_t) { return true; }));
    EXPECT_EQ(m_plot.visibleTokens(), std::pair(-0.5, 49.5));
}

TEST_F(ScoreStripOfSample, theSelectedTokenIsALineThroughAllPanels) {
    const QPointF at = placeOf(12);
    const QRect column(qRound(at.x()) - 3, 0, 7, canvasOf(m_plot).height());
    m_plot.setHoveredToken(-1);
    EXPECT_EQ(countNear(shown(canvasOf(m_plot)), column, Theme::light().accent, 40), 0);
    m_plot.setSelectedToken(12);
    EXPECT_GT(countNear(shown(canvasOf(m_plot)), column, Theme::light().accent, 40), 100);
}

TEST_F(ScoreStripOfSample, followsADarkPalette) {
    const QColor before = shown(m_plot).pixelColor(2, 2);
    m_plot.setPalette(Theme::night().applicationPalette());
    const QImage dark = shown(m_plot);
    EXPECT_EQ(before, Theme::light().background);
    EXPECT_EQ(dark.pixelColor(2, 2), Theme::night().background);
    EXPECT_EQ(shown(canvasOf(m_plot)).pixelColor(0, 0), Theme::night().background);
    // The line above the panels is bright now.
    EXPECT_GT(countNear(dark, QRect(12, 4, 300, 16), Theme::night().text, 30), 50);
}

TEST_F(ScoreStripOfSample, exportsFromAWorkerInEveryFormat) {
    const FigurePtr figure = m_plot.figure();
    std::thread worker([&] { // QCustomPlot itself must stay on this thread
        for (const char* name : {"strip.png", "strip.svg", "strip.pdf", "strip.csv"}) {
            exportFigure(*figure, m_folder / name, {});
        }
    });
    worker.join();
    const QImage png(QString::fromStdString((m_folder / "strip.png").string()));
    ASSERT_EQ(png.width(), 2400);
    // The rug is drawn over the whole width: token 0 and the protected ones at the end survive.
    const auto [left, right] = extentOf(png, Theme::light().kept, 40);
    EXPECT_LT(left, 240);
    EXPECT_GT(right, 2000);
    QFile svg(QString::fromStdString((m_folder / "strip.svg").string()));
    ASSERT_TRUE(svg.open(QIODevice::ReadOnly));
    const QByteArray text = svg.readAll();
    EXPECT_TRUE(text.contains("token position"));
    EXPECT_TRUE(text.contains("diversity"));
    EXPECT_TRUE(text.contains("ecokv, budget 13, window 6")); // title and provenance
    EXPECT_FALSE(text.contains("<image"));                    // vectors only
    EXPECT_GT(QFile(QString::fromStdString((m_folder / "strip.pdf").string())).size(), 1000);
    QFile csv(QString::fromStdString((m_folder / "strip.csv").string()));
    ASSERT_TRUE(csv.open(QIODevice::ReadOnly));
    EXPECT_EQ(csv.readAll().count('\n'), 32); // provenance, header, 30 tokens
}

TEST_F(ScoreStripOfSample, bothThreadsDrawTheSameSheet) {
    const FigurePtr figure = m_plot.figure();
    const QImage here = renderImage(*figure, {});
    QImage there;
    std::thread worker([&] { there = renderImage(*figure, {}); });
    worker.join();
    ASSERT_EQ(here.size(), there.size());
    const auto kept = Theme::light().kept;
    EXPECT_NEAR(extentOf(here, kept, 40).first, extentOf(there, kept, 40).first, 3);
    EXPECT_NEAR(extentOf(here, kept, 40).second, extentOf(there, kept, 40).second, 3);
}

TEST(ScoreStrip, saysWhatToDoWhileEmpty) {
    ScoreStripPlot plot;
    plot.resize(kSize);
    EXPECT_EQ(plot.figure(), nullptr);
    EXPECT_EQ(plot.describe(0), QString());
    EXPECT_GT(test::colorsIn(shown(plot), QRect({}, kSize)).size(), 2U); // text
}

// Zeros of the logarithmic importance lie in a lane below the smallest value (field case F146).
TEST(ScoreStrip, zerosOfTheLogarithmicAxisAreDrawn) {
    ScoreStripPlot plot;
    plot.resize(kSize);
    plot.setData(madeData(
        40, [](std::size_t i) { return i % 2 == 0 ? 0.0F : 1e-3F; },
        [](std::size_t) { return false; }));
    const QImage image = shown(plot);
    // The zigzag between lane and value fills the width of the first panel.
    const auto [left, right] =
        extentOf(image.copy(0, 20, image.width(), 60), Theme::light().mutedText, 30);
    EXPECT_GT(right - left, 550);
    plot.setData(madeData(
        40, [](std::size_t) { return 0.0F; }, [](std::size_t) { return false; }));
    shown(plot); // only zeros: a linear axis
    plot.setData(madeData(
        40, [](std::size_t) { return kNaN; }, [](std::size_t) { return true; }));
    shown(plot); // all protected
}

TEST(ScoreStrip, theRugShowsSurvivorsOnly) {
    ScoreStripPlot plot;
    plot.resize(kSize);
    plot.setData(madeData(
        100, [](std::size_t) { return 0.5F; }, [](std::size_t i) { return i >= 50; }));
    const QImage image = shown(plot);
    const auto [left, right] = extentOf(image, Theme::light().kept, 60);
    EXPECT_GT(left, 350); // nothing in the left half of the plot
    EXPECT_GT(right, 600);
}

// Field case F149: 1e6 tokens, every second NaN, redraw under 100 ms. The bound is generous for
// loaded machines; the time is printed.
TEST(ScoreStrip, aMillionTokensHalfOfThemNaNRedrawFastAndWhole) {
    ScoreStripPlot plot;
    plot.resize(kSize);
    plot.setData(madeData(
        1'000'000,
        [](std::size_t i) {
            return i % 2 == 0 ? kNaN : 0.1F + 0.05F * std::sin(static_cast<float>(i) * 1e-4F);
        },
        [](std::size_t i) { return i % 5 == 0; }));
    plot.show();
    QCoreApplication::processEvents();
    std::vector<qint64> times;
    for (int i = 0; i < 9; ++i) {
        QElapsedTimer timer;
        timer.start();
        QTest::keyClick(&plot, i % 2 == 0 ? Qt::Key_Plus : Qt::Key_0); // another view each time
        shown(plot);
        times.push_back(timer.elapsed());
    }
    std::sort(times.begin(), times.end());
    std::printf("redraw of 1e6 tokens: median %lld ms\n", static_cast<long long>(times[4]));
    EXPECT_LT(times[4], 1000);
    plot.showAll();
    const QImage image = shown(plot);
    const auto [left, right] = extentOf(image, Theme::light().mutedText, 30);
    int missing = 0; // no column of the screen is lost to the NaNs
    for (int x = left + 60; x < right - 90; ++x) {
        missing += countNear(image, QRect(x, 25, 1, 150), Theme::light().mutedText, 90) == 0;
    }
    EXPECT_EQ(missing, 0);
}

} // namespace ecokv::ui
