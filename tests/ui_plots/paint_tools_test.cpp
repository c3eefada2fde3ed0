// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/paint_tools.h"
#include "ui_plots/plot_testing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ecokv::ui {

namespace {

QImage canvas(int width, int height, const std::function<void(QPainter&)>& draw) {
    QImage image(width, height, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    draw(painter);
    return image;
}

} // namespace

TEST(Hatch, staysInsideItsArea) {
    const QImage image = canvas(
        60, 40, [](QPainter& painter) { drawHatch(painter, QRectF(20, 10, 25, 17), Qt::black); });
    QRect ink;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
            if (image.pixelColor(x, y) != QColor(Qt::white)) {
                ink |= QRect(x, y, 1, 1);
            }
        }
    }
    EXPECT_TRUE(QRect(19, 9, 27, 19).contains(ink)); // half a line's width beyond at most
    EXPECT_GE(ink.width(), 24);
    EXPECT_GE(ink.height(), 16);
}

TEST(Hatch, ofNeighboursJoins) {
    const QImage whole = canvas(
        80, 40, [](QPainter& painter) { drawHatch(painter, QRectF(10, 5, 60, 30), Qt::black); });
    const QImage halves = canvas(80, 40, [](QPainter& painter) {
        drawHatch(painter, QRectF(10, 5, 25, 30), Qt::black);
        drawHatch(painter, QRectF(35, 5, 35, 30), Qt::black);
    });
    int different = 0;
    for (int y = 0; y < whole.height(); ++y) {
        for (int x = 0; x < whole.width(); ++x) {
            different += test::distance(whole.pixelColor(x, y), halves.pixelColor(x, y)) > 60;
        }
    }
    EXPECT_LE(different, 16); // line ends along the seam
}

TEST(Hatch, ofNothingDrawsNothing) {
    const QImage image = canvas(20, 20, [](QPainter& painter) {
        drawHatch(painter, QRectF(5, 5, 0, 10), Qt::black);
        drawHatch(painter, QRectF(), Qt::black);
    });
    EXPECT_EQ(test::colorsIn(image, image.rect()).size(), 1U);
}

TEST(Text, isElidedNotCut) {
    const Theme theme = Theme::light();
    const QString text = QStringLiteral("a provenance line that is far too long for its place");
    const QImage image = canvas(200, 40, [&](QPainter& painter) {
        drawText(painter, theme, QRectF(10, 10, 100, 20), text, {TextRole::Label, theme.text});
    });
    EXPECT_EQ(test::colorsIn(image, QRect(112, 0, 88, 40)).size(), 1U);
    EXPECT_GT(test::colorsIn(image, QRect(10, 10, 100, 20)).size(), 3U);
}

TEST(Text, readableOnPicksTheStrongerContrast) {
    EXPECT_EQ(readableOn(QColor(0xfde725)), QColor(0x111111));
    EXPECT_EQ(readableOn(QColor(0x440154)), QColor(0xffffff));
    // Green of viridis: 7.0 to 1 with black, 3.0 to 1 with white.
    EXPECT_EQ(readableOn(QColor(0x25ac82)), QColor(0x111111));
}

TEST(ShortNumber, isShortInEveryMagnitude) {
    EXPECT_EQ(shortNumber(0.8234), QStringLiteral("0.823"));
    EXPECT_EQ(shortNumber(0), QStringLiteral("0"));
    EXPECT_EQ(shortNumber(48), QStringLiteral("48"));
    EXPECT_EQ(shortNumber(12.3456), QStringLiteral("12.35"));
    EXPECT_EQ(shortNumber(0.0000123), QStringLiteral("1.2e-05"));
    EXPECT_EQ(shortNumber(std::numeric_limits<double>::quiet_NaN()), QStringLiteral("–"));
}

TEST(ColorBar, putsTheLowEndAtTheBottom) {
    const QImage image = canvas(120, 300, [](QPainter& painter) {
        drawVerticalColorBar(painter, Theme::light(), QRectF(10, 10, 80, 280),
                             {ColorMap::Viridis, {0, 1, false}, QStringLiteral("r"), false});
    });
    EXPECT_LE(test::distance(image.pixelColor(17, 286), QColor(0x440154)), 12);
    EXPECT_LE(test::distance(image.pixelColor(17, 14), QColor(0xfde725)), 12);
}

TEST(ColorBar, horizontalGrowsToTheRight) {
    const QImage image = canvas(400, 60, [](QPainter& painter) {
        drawHorizontalColorBar(painter, Theme::light(), QRectF(10, 10, 300, 30),
                               {ColorMap::Cividis, {0, 1, false}, QString(), false});
    });
    const auto barColor = [&](int x) { return image.pixelColor(x, 16); };
    EXPECT_LE(test::distance(barColor(22), QColor(0x00224e)), 12);
    EXPECT_GT(test::brightness(barColor(250)), test::brightness(barColor(60)));
}

TEST(ColorBar, ofWholeNumbersHasNoFractions) {
    // 1..3 tokens on a tall bar would get ticks at 1.5 and 2.5.
    const ColorBar halves{ColorMap::Cividis, {1, 3, false}, QString(), false};
    ColorBar whole = halves;
    whole.integers = true;
    const Theme theme = Theme::light();
    EXPECT_LT(colorBarWidth(theme, whole, 400), colorBarWidth(theme, halves, 400));
}

} // namespace ecokv::ui
