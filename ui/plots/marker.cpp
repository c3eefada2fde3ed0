// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/marker.h"

#include <cmath>

namespace ecokv::ui {
namespace {

std::size_t slotOf(const MarkerStyle& style) {
    return static_cast<std::size_t>(style.kind) * 2 + (style.kept ? 1 : 0);
}

} // namespace

void drawMarker(QPainter& painter, const Theme& theme, const QPointF& centre, double size,
                const MarkerStyle& style) {
    if (style.kept) {
        painter.setPen(QPen(theme.background, 0.8));
        painter.setBrush(theme.kept);
    } else {
        painter.setPen(QPen(theme.evicted, 1.1));
        painter.setBrush(Qt::NoBrush);
    }
    const double r = size / 2;
    switch (style.kind) {
    case TokenKind::Text:
        painter.drawEllipse(centre, r, r);
        break;
    case TokenKind::Special: {
        const double d = r * 1.3;
        const QPolygonF diamond({centre + QPointF(0, -d), centre + QPointF(d, 0),
                                 centre + QPointF(0, d), centre + QPointF(-d, 0)});
        painter.drawPolygon(diamond);
        break;
    }
    case TokenKind::Image:
        painter.drawRect(QRectF(centre.x() - r * 0.9, centre.y() - r * 0.9, r * 1.8, r * 1.8));
        break;
    }
}

MarkerStamps::MarkerStamps(const Theme& theme, double size, double pixelRatio) {
    const int side = static_cast<int>(std::ceil((size * 1.3 + 3) * pixelRatio)) | 1;
    m_half = (side - 1) / 2.0;
    for (const auto kind : {TokenKind::Text, TokenKind::Special, TokenKind::Image}) {
        for (const bool kept : {false, true}) {
            QImage image(side, side, QImage::Format_ARGB32_Premultiplied);
            image.fill(Qt::transparent);
            QPainter painter(&image);
            painter.setRenderHint(QPainter::Antialiasing, true);
            painter.scale(pixelRatio, pixelRatio);
            const double middle = side / pixelRatio / 2;
            drawMarker(painter, theme, {middle, middle}, size, {kind, kept});
            painter.end();
            m_images[slotOf({kind, kept})] = image;
        }
    }
}

void MarkerStamps::stamp(QPainter& painter, const QPointF& devicePosition,
                         const MarkerStyle& style) const {
    painter.drawImage(QPoint(static_cast<int>(std::lround(devicePosition.x() - m_half)),
                             static_cast<int>(std::lround(devicePosition.y() - m_half))),
                      m_images[slotOf(style)]);
}

} // namespace ecokv::ui
