#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the plot tests share: figures drawn into pictures, and questions about their pixels.

#include "ui/plots/figure.h"

#include <QColor>
#include <QImage>
#include <QPointF>
#include <QSize>

#include <set>

class QWidget;

namespace ecokv::ui::test {

/// Where figures are drawn: the whole picture.
inline QRectF areaOf(const QSize& size) {
    return QRectF(QPointF(), QSizeF(size));
}

QImage drawn(const Figure& figure, const QSize& size, const Theme& theme = Theme::light(),
             double scale = 1);
/// Relative luminance, 0 black to 255 white.
double brightness(const QColor& color);
double meanBrightness(const QImage& image, const QRect& area);
std::set<QRgb> colorsIn(const QImage& image, const QRect& area);
/// Largest difference of a channel.
int distance(const QColor& a, const QColor& b);
/// Pixels within `tolerance` of a colour.
int countNear(const QImage& image, const QRect& area, const QColor& color, int tolerance);

/// Moves the mouse over a widget that need not be on a screen.
void moveMouse(QWidget& widget, const QPointF& to, Qt::MouseButtons pressed = Qt::NoButton);
void turnWheel(QWidget& widget, const QPointF& at, int notches);

} // namespace ecokv::ui::test
