// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui_plots/plot_testing.h"

#include <QCoreApplication>
#include <QMouseEvent>
#include <QWheelEvent>
#include <QWidget>

#include <algorithm>
#include <cmath>

namespace ecokv::ui::test {

QImage drawn(const Figure& figure, const QSize& size, const Theme& theme, double scale) {
    QImage image(size * scale, QImage::Format_RGB32);
    image.fill(theme.background);
    QPainter painter(&image);
    painter.scale(scale, scale);
    figure.paint(painter, areaOf(size), theme);
    return image;
}

double brightness(const QColor& color) {
    return 0.299 * color.red() + 0.587 * color.green() + 0.114 * color.blue();
}

double meanBrightness(const QImage& image, const QRect& area) {
    double sum = 0;
    for (int y = area.top(); y <= area.bottom(); ++y) {
        for (int x = area.left(); x <= area.right(); ++x) {
            sum += brightness(image.pixelColor(x, y));
        }
    }
    return sum / (area.width() * area.height());
}

std::set<QRgb> colorsIn(const QImage& image, const QRect& area) {
    std::set<QRgb> colors;
    for (int y = area.top(); y <= area.bottom(); ++y) {
        for (int x = area.left(); x <= area.right(); ++x) {
            colors.insert(image.pixel(x, y));
        }
    }
    return colors;
}

int distance(const QColor& a, const QColor& b) {
    return std::max({std::abs(a.red() - b.red()), std::abs(a.green() - b.green()),
                     std::abs(a.blue() - b.blue())});
}

int countNear(const QImage& image, const QRect& area, const QColor& color, int tolerance) {
    int count = 0;
    for (int y = area.top(); y <= area.bottom(); ++y) {
        for (int x = area.left(); x <= area.right(); ++x) {
            count += distance(image.pixelColor(x, y), color) <= tolerance ? 1 : 0;
        }
    }
    return count;
}

void moveMouse(QWidget& widget, const QPointF& to, Qt::MouseButtons pressed) {
    QMouseEvent event(QEvent::MouseMove, to, widget.mapToGlobal(to), Qt::NoButton, pressed, {});
    QCoreApplication::sendEvent(&widget, &event);
}

void turnWheel(QWidget& widget, const QPointF& at, int notches) {
    QWheelEvent event(at, widget.mapToGlobal(at), {}, {0, 120 * notches}, Qt::NoButton, {},
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&widget, &event);
}

} // namespace ecokv::ui::test
