#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the figures share: text, hatching, headers, colour bars, legends. Everything is drawn with
// plain lines, rectangles and text and clipped by arithmetic, because Qt's SVG writer knows neither
// clip paths nor pattern brushes. Private to ui/plots. Any thread.

#include "ui/plots/axis_ticks.h"
#include "ui/plots/color_maps.h"
#include "ui/plots/theme.h"

#include <QPainter>
#include <QRectF>
#include <QString>

namespace ecokv::ui {

double textWidth(const Theme& theme, TextRole role, const QString& text);
double textHeight(const Theme& theme, TextRole role);

struct TextStyle {
    TextRole role = TextRole::Label;
    QColor color;
    int alignment = Qt::AlignLeft | Qt::AlignVCenter;
};
/// Elided at the end if it is wider than `area`.
void drawText(QPainter& painter, const Theme& theme, const QRectF& area, const QString& text,
              const TextStyle& style);
/// Wrapped between words from the top of `area`; as high as paragraphHeight says.
void drawParagraph(QPainter& painter, const Theme& theme, const QRectF& area, const QString& text,
                   const TextStyle& style);
double paragraphHeight(const Theme& theme, TextRole role, const QString& text, double width);
/// Reads upwards, centred on `area`.
void drawVerticalText(QPainter& painter, const Theme& theme, const QRectF& area,
                      const QString& text, const TextStyle& style);

/// Lines at 45 degrees inside `area`, in one phase over the whole sheet so that neighbours join.
void drawHatch(QPainter& painter, const QRectF& area, const QColor& color,
               double step = kHatchStep);

/// Title and subtitle at the top of `area`; both may be "".
void drawHeader(QPainter& painter, const Theme& theme, const QRectF& area, const QString& title,
                const QString& subtitle);
double headerHeight(const Theme& theme, const QString& title, const QString& subtitle);

struct ColorBar {
    ColorMap map = ColorMap::Viridis;
    ValueRange range;
    QString label;
    bool integers = false; ///< ticks only at whole numbers
};
/// Width of a vertical bar with its ticks and label.
double colorBarWidth(const Theme& theme, const ColorBar& bar, double height);
void drawVerticalColorBar(QPainter& painter, const Theme& theme, const QRectF& area,
                          const ColorBar& bar);
/// Bar, ticks below it, label at its left; height kHorizontalBarHeight.
inline constexpr double kHorizontalBarHeight = 30.0;
void drawHorizontalColorBar(QPainter& painter, const Theme& theme, const QRectF& area,
                            const ColorBar& bar);

/// Black or white, whichever reads better on `background`.
QColor readableOn(const QColor& background);
/// "0.823", "1.2e-05", "34": short, with a point in every locale.
QString shortNumber(double value);

} // namespace ecokv::ui
