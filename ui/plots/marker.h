#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Marks of tokens: circle = text, diamond = special, square = image; filled = kept, hollow and
// dimmed = evicted. Shape and fill say it without colour. Private to ui/plots. Any thread.

#include "ui/plots/scatter_figure.h"

#include <QImage>

#include <array>

namespace ecokv::ui {

struct MarkerStyle {
    TokenKind kind = TokenKind::Text;
    bool kept = false;
};

void drawMarker(QPainter& painter, const Theme& theme, const QPointF& centre, double size,
                const MarkerStyle& style);

/// Markers drawn once and stamped often: for very many marks on a raster device.
class MarkerStamps {
public:
    MarkerStamps(const Theme& theme, double size, double pixelRatio);
    /// `devicePosition` in pixels of the device; the painter must have no transform.
    void stamp(QPainter& painter, const QPointF& devicePosition, const MarkerStyle& style) const;

private:
    std::array<QImage, 6> m_images;
    double m_half = 0; ///< of an image, device pixels
};

} // namespace ecokv::ui
