// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/figure_export.h"
#include "ui/plots/token_text.h"
#include "ui_plots/plot_testing.h"

#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

namespace ecokv::ui {

using test::drawn;

namespace {

TokenTextData words(int count) {
    TokenTextData data;
    data.title = QStringLiteral("ecokv, budget 48");
    for (int i = 0; i < count; ++i) {
        data.tokens.push_back(
            {i, QStringLiteral(" w%1").arg(i), TokenKind::Text, i % 2 == 0 ? 1.0F : 0.0F, 1});
    }
    return data;
}

std::shared_ptr<const TokenTextFigure> figureOf(TokenTextData data) {
    return std::make_shared<TokenTextFigure>(std::move(data), FigureSource{});
}

} // namespace

TEST(TokenText, wrapsAtTheWidthInOrder) {
    const auto figure = figureOf(words(200));
    const TokenLayout layout = figure->layout(300, Theme::light());
    ASSERT_EQ(layout.boxes.size(), 200U);
    EXPECT_GT(layout.lines.size(), 10U);
    for (std::size_t i = 0; i < layout.boxes.size(); ++i) {
        EXPECT_LE(layout.boxes[i].right(), 300);
        if (i > 0) {
            const bool isLater = layout.boxes[i].top() > layout.boxes[i - 1].top() ||
                                 layout.boxes[i].left() >= layout.boxes[i - 1].right();
            EXPECT_TRUE(isLater) << i;
        }
    }
    EXPECT_EQ(layout.lines.front(), 0U);
    EXPECT_NEAR(layout.height, layout.boxes.back().bottom(), 1e-9);
}

TEST(TokenText, newlinesAreShownAndEndTheLine) {
    TokenTextData data = words(3);
    data.tokens[1].text = QStringLiteral("\n");
    const auto figure = figureOf(data);
    EXPECT_EQ(figure->shownText(1), QStringLiteral("↵"));
    const TokenLayout layout = figure->layout(500, Theme::light());
    EXPECT_EQ(layout.lines, (std::vector<std::size_t>{0, 2}));
    EXPECT_EQ(layout.boxes[1].top(), layout.boxes[0].top());
}

TEST(TokenText, invisibleTokensStayVisible) {
    TokenTextData data = words(3);
    data.tokens[0].text = QString();
    data.tokens[1].text = QStringLiteral("\t");
    data.tokens[2].text = QStringLiteral("  ");
    const auto figure = figureOf(data);
    EXPECT_EQ(figure->shownText(0), QStringLiteral("∅"));
    EXPECT_EQ(figure->shownText(1), QStringLiteral("⇥"));
    EXPECT_EQ(figure->shownText(2), QStringLiteral("␣␣"));
    for (const QRectF& box : figure->layout(500, Theme::light()).boxes) {
        EXPECT_GT(box.width(), 6);
    }
}

TEST(TokenText, tokensWiderThanTheLineAreCutToIt) {
    TokenTextData data = words(2);
    data.tokens[0].text = QString(400, QLatin1Char('x'));
    const TokenLayout layout = figureOf(data)->layout(200, Theme::light());
    EXPECT_EQ(layout.boxes[0].width(), 200);
    EXPECT_EQ(layout.lines.size(), 2U);
}

TEST(TokenText, findsEveryTokenWhereItIs) {
    const auto figure = figureOf(words(100));
    const TokenLayout layout = figure->layout(260, Theme::light());
    for (std::size_t i = 0; i < layout.boxes.size(); ++i) {
        EXPECT_EQ(figure->tokenAt(layout, layout.boxes[i].center()), i);
    }
    EXPECT_FALSE(figure->tokenAt(layout, {-5, 5}));
    EXPECT_FALSE(figure->tokenAt(layout, {5, layout.height + 50}));
}

TEST(TokenText, evictedIsHatchedAndDimmedAndKeptHasASolidLine) {
    const auto figure = figureOf(words(2));
    for (const Theme& theme : {Theme::light(), Theme::night()}) {
        const QImage image = drawn(*figure, {300, 120}, theme);
        const TokenLayout layout = figure->layout(300, theme);
        const QPointF origin(0, figure->headerHeight(theme));
        const QRect kept = layout.boxes[0].translated(origin).toRect();
        const QRect evicted = layout.boxes[1].translated(origin).toRect();
        const auto onLine = [&](const QRect& box) {
            return test::countNear(
                image, QRect(box.left() + 1, box.bottom() - 1, box.width() - 2, 2), theme.kept, 2);
        };
        EXPECT_GT(onLine(kept), kept.width());
        EXPECT_EQ(onLine(evicted), 0);
        EXPECT_EQ(test::countNear(image, evicted, theme.kept, 30), 0);
        // Left of the text there is room for hatching only.
        EXPECT_GT(test::colorsIn(image, QRect(evicted.left(), evicted.top() + 2, 3, 12)).size(),
                  1U);
        EXPECT_EQ(test::colorsIn(image, QRect(kept.left() + 1, kept.top() + 2, 2, 12)).size(), 1U);
    }
}

TEST(TokenText, exportIsTallEnoughForAllTokens) {
    ExportOptions options;
    options.width = 400;
    options.height = 100;
    options.scale = 1;
    const QImage image = renderImage(*figureOf(words(500)), options);
    EXPECT_GT(image.height(), 500);
    const QByteArray svg = renderSvg(*figureOf(words(500)), options);
    EXPECT_TRUE(svg.contains("w499<"));
}

TEST(TokenText, millionTokensLayOutQuickly) { // F153
    TokenTextData data;
    for (int i = 0; i < 1000000; ++i) {
        data.tokens.push_back(
            {i, QString(QLatin1Char(static_cast<char>('a' + i % 26))), TokenKind::Text, 1, 1});
    }
    QElapsedTimer timer;
    timer.start();
    const auto figure = figureOf(std::move(data));
    TokenText widget;
    widget.resize(600, 400);
    widget.setFigure(figure);
    widget.setSelectedToken(999999); // scrolls to the very end
    widget.grab();
    EXPECT_LT(timer.elapsed(), 3000); // 0.2 s on an idle core
}

class TokenTextWidget : public testing::Test {
protected:
    TokenTextWidget() {
        TokenTextData data = words(300);
        data.tokens[2] = {2, QStringLiteral("▦ image 1"), TokenKind::Image, 0.5F, 144};
        for (std::size_t i = 3; i < data.tokens.size(); ++i) {
            data.tokens[i].token += 143;
        }
        m_figure = figureOf(std::move(data));
        m_widget.resize(400, 200);
        m_widget.setFigure(m_figure);
    }
    QPointF centreOf(std::size_t index) const {
        const int bar = m_widget.findChild<QScrollBar*>()->sizeHint().width();
        const TokenLayout layout = m_figure->layout(400 - 24 - bar, m_widget.theme());
        return layout.boxes[index].center() +
               QPointF(12, 10 + m_figure->headerHeight(m_widget.theme()));
    }

    std::shared_ptr<const TokenTextFigure> m_figure;
    TokenText m_widget;
};

TEST_F(TokenTextWidget, hoverAndClickNameTheToken) {
    QSignalSpy hovered(&m_widget, &TokenText::tokenHovered);
    QSignalSpy selected(&m_widget, &TokenText::tokenSelected);
    test::moveMouse(m_widget, centreOf(1));
    QTest::mouseClick(&m_widget, Qt::LeftButton, {}, centreOf(3).toPoint());
    ASSERT_EQ(hovered.size(), 1);
    EXPECT_EQ(hovered[0][0].toLongLong(), 1);
    ASSERT_EQ(selected.size(), 1);
    EXPECT_EQ(selected[0][0].toLongLong(), 146); // after a run of 144 image tokens
}

TEST_F(TokenTextWidget, anyTokenOfARunMarksItsTag) {
    const QImage before = m_widget.grab().toImage();
    m_widget.setHoveredToken(100);
    const QImage after = m_widget.grab().toImage();
    EXPECT_NE(before, after);
    EXPECT_GT(test::countNear(after, after.rect(), m_widget.theme().accent, 60), 40);
}

TEST_F(TokenTextWidget, selectionFromElsewhereScrollsThere) {
    auto* bar = m_widget.findChild<QScrollBar*>();
    EXPECT_EQ(bar->value(), 0);
    m_widget.setSelectedToken(400);
    EXPECT_GT(bar->value(), 50);
    m_widget.setSelectedToken(0);
    EXPECT_EQ(bar->value(), 0);
}

TEST_F(TokenTextWidget, arrowKeysWalkTheTokens) {
    QSignalSpy selected(&m_widget, &TokenText::tokenSelected);
    QTest::keyClick(&m_widget, Qt::Key_Right);
    QTest::keyClick(&m_widget, Qt::Key_Right);
    QTest::keyClick(&m_widget, Qt::Key_Right);
    QTest::keyClick(&m_widget, Qt::Key_Right);
    QTest::keyClick(&m_widget, Qt::Key_Left);
    ASSERT_EQ(selected.size(), 5);
    EXPECT_EQ(selected[2][0].toLongLong(), 2);
    EXPECT_EQ(selected[3][0].toLongLong(), 146);
    EXPECT_EQ(selected[4][0].toLongLong(), 2);
}

TEST_F(TokenTextWidget, standsWithoutAFigure) {
    m_widget.setFigure(nullptr);
    m_widget.grab();
    test::moveMouse(m_widget, {50, 50});
    QTest::keyClick(&m_widget, Qt::Key_Right);
    test::turnWheel(m_widget, {50, 50}, -1);
    EXPECT_EQ(m_widget.figure(), nullptr);
}

} // namespace ecokv::ui
