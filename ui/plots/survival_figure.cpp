// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/survival_figure.h"

#include "base/error.h"
#include "ui/plots/paint_tools.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace ecokv::ui {
namespace {

constexpr int kSmallestLevel = 512;
constexpr double kPixelsFrom = 2.5; ///< scale from which pixels are drawn as squares
constexpr double kInkStrength = 0.75;
constexpr double kDarkBackground = 0.35; ///< median below this share of the range: light on dark

double grayOf(const uchar* pixel) {
    return 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2];
}

/// Tells a picture's ink from its background (the median grey), on light and on dark paper.
class InkScale {
public:
    explicit InkScale(const QImage& image) {
        std::array<std::int64_t, 256> counts{};
        for (int y = 0; y < image.height(); ++y) {
            const uchar* row = image.constScanLine(y);
            for (int x = 0; x < image.width(); ++x) {
                ++counts[static_cast<std::size_t>(grayOf(row + 3 * x))];
            }
        }
        const std::int64_t half = std::int64_t{image.width()} * image.height() / 2;
        std::int64_t seen = 0;
        double lowest = 255, highest = 0;
        for (std::size_t gray = 0; gray < counts.size(); ++gray) {
            const auto level = static_cast<double>(gray);
            m_background = seen <= half ? level : m_background;
            seen += counts[gray];
            lowest = counts[gray] > 0 ? std::min(lowest, level) : lowest;
            highest = counts[gray] > 0 ? level : highest;
        }
        const bool isDark = m_background - lowest < kDarkBackground * (highest - lowest);
        m_ink = isDark ? highest : lowest;
    }

    /// 0 background .. 1 ink.
    double at(const uchar* pixel) const {
        const double span = m_ink - m_background;
        const double ink = std::abs(span) < 1 ? 0 : (grayOf(pixel) - m_background) / span;
        return std::clamp(ink, 0.0, 1.0);
    }

private:
    double m_background = 0, m_ink = 0; ///< grey levels 0..255
};

/// Paper shows exactly the colour of the colour bar, ink on it black or white, whichever reads.
void colorPatch(QImage& image, const QRectF& box, const QColor& color, const InkScale& inkScale) {
    const QRect pixels = QRect(QPoint(static_cast<int>(std::lround(box.left())),
                                      static_cast<int>(std::lround(box.top()))),
                               QPoint(static_cast<int>(std::lround(box.right())) - 1,
                                      static_cast<int>(std::lround(box.bottom())) - 1))
                             .intersected(image.rect());
    const QColor ink = readableOn(color);
    const auto mixed = [](int paper, int over, double share) {
        return static_cast<uchar>(std::lround(paper + (over - paper) * share));
    };
    for (int y = pixels.top(); y <= pixels.bottom(); ++y) {
        uchar* row = image.scanLine(y) + 3 * pixels.left();
        for (int x = 0; x < pixels.width(); ++x, row += 3) {
            const double share = kInkStrength * inkScale.at(row);
            row[0] = mixed(color.red(), ink.red(), share);
            row[1] = mixed(color.green(), ink.green(), share);
            row[2] = mixed(color.blue(), ink.blue(), share);
        }
    }
}

/// The parts of `outer` around `inner`.
std::array<QRectF, 4> frameAround(const QRectF& outer, const QRectF& inner) {
    return {QRectF(outer.topLeft(), QPointF(outer.right(), inner.top())),
            QRectF(QPointF(outer.left(), inner.bottom()), outer.bottomRight()),
            QRectF(QPointF(outer.left(), inner.top()), inner.bottomLeft()),
            QRectF(inner.topRight(), QPointF(outer.right(), inner.bottom()))};
}

} // namespace

QImage imageFromPixels(std::span<const std::uint8_t> pixels, std::int64_t width,
                       std::int64_t height) {
    if (width <= 0 || height <= 0 ||
        pixels.size() != static_cast<std::size_t>(3 * width * height)) {
        throwInternal("A picture of " + std::to_string(width) + " x " + std::to_string(height) +
                      " pixels holds " + std::to_string(pixels.size()) + " bytes.");
    }
    QImage image(static_cast<int>(width), static_cast<int>(height), QImage::Format_RGB888);
    const auto rowBytes = static_cast<std::size_t>(3 * width);
    for (int y = 0; y < image.height(); ++y) {
        std::memcpy(image.scanLine(y), pixels.data() + static_cast<std::size_t>(y) * rowBytes,
                    rowBytes);
    }
    return image;
}

SurvivalFigure::SurvivalFigure(SurvivalData data, FigureSource source)
    : Figure(std::move(source)), m_data(std::move(data)) {
    QImage shown = m_data.picture.convertToFormat(QImage::Format_RGB888);
    const QRectF whole(QPointF(), QSizeF(shown.size()));
    for (SurvivalPatch& patch : m_data.patches) {
        patch.box = patch.box.intersected(whole); // padding is not part of the picture
        m_covered = m_covered.isNull() ? patch.box : m_covered.united(patch.box);
        m_keptPatches += patch.share > 0 ? 1 : 0;
    }
    if (m_data.areas.empty()) { // patches that do not overlap need no others
        for (const SurvivalPatch& patch : m_data.patches) {
            m_data.areas.push_back({patch.box, patch.share});
        }
    }
    for (SurvivalArea& area : m_data.areas) {
        area.box = area.box.intersected(whole);
    }
    if (m_data.isCount) {
        const InkScale inkScale(shown);
        for (const SurvivalArea& area : m_data.areas) {
            if (area.share > 0) {
                colorPatch(shown, area.box, colorAt(ColorMap::Viridis, area.share), inkScale);
            }
        }
    }
    m_levels.push_back(shown);
    while (std::min(m_levels.back().width(), m_levels.back().height()) > kSmallestLevel) {
        m_levels.push_back(m_levels.back().scaled(m_levels.back().size() / 2, Qt::IgnoreAspectRatio,
                                                  Qt::SmoothTransformation));
    }
}

bool SurvivalFigure::leavesBorder() const {
    const QRectF whole(QPointF(), QSizeF(m_data.picture.size()));
    return !m_covered.isNull() && !m_covered.adjusted(-1, -1, 1, 1).contains(whole);
}

double SurvivalFigure::legendHeight(const Theme& theme) const {
    const double row = textHeight(theme, TextRole::Label) + kSpace;
    if (!m_data.instead.isEmpty()) {
        return row + textHeight(theme, TextRole::Label); // room for two lines
    }
    return m_data.isCount ? row + kHorizontalBarHeight + kSpace : row + kSpace / 2;
}

double SurvivalFigure::preferredHeight(double width, const Theme& theme) const {
    if (m_data.picture.isNull()) {
        return 0;
    }
    const double picture = width * m_data.picture.height() / m_data.picture.width();
    return headerHeight(theme, m_data.title, m_data.subtitle) + picture + legendHeight(theme);
}

QRectF SurvivalFigure::pictureSpace(const QRectF& area, const Theme& theme) const {
    const double header = headerHeight(theme, m_data.title, m_data.subtitle);
    return area.adjusted(0, header, 0, -legendHeight(theme));
}

QRectF SurvivalFigure::pictureRect(const QRectF& area, const Theme& theme) const {
    const QRectF space = pictureSpace(area, theme);
    const QSizeF size = QSizeF(m_data.picture.size()).scaled(space.size(), Qt::KeepAspectRatio);
    const QRectF centred(space.center() - QPointF(size.width(), size.height()) / 2, size);
    return QRectF(std::round(centred.left()), std::round(centred.top()), size.width(),
                  size.height());
}

std::optional<std::size_t> SurvivalFigure::patchAt(const QPointF& at) const {
    std::optional<std::size_t> found;
    double smallest = 0;
    for (std::size_t i = 0; i < m_data.patches.size(); ++i) {
        const QRectF& box = m_data.patches[i].box;
        const double size = box.width() * box.height();
        if (at.x() >= box.left() && at.x() < box.right() && at.y() >= box.top() &&
            at.y() < box.bottom() && (!found || size < smallest)) {
            found = i;
            smallest = size;
        }
    }
    return found;
}

void SurvivalFigure::paint(QPainter& painter, const QRectF& area, const Theme& theme) const {
    paintFrame(painter, area, theme);
    paintPicture(painter, pictureRect(area, theme), theme);
}

const QImage& SurvivalFigure::levelFor(double scale) const {
    std::size_t level = 0;
    while (level + 1 < m_levels.size() && scale <= 0.5) {
        scale *= 2;
        ++level;
    }
    return m_levels[level];
}

QRectF SurvivalFigure::mapped(const QRectF& box, const QRectF& target) const {
    const double sx = target.width() / m_data.picture.width();
    const double sy = target.height() / m_data.picture.height();
    return {target.left() + box.left() * sx, target.top() + box.top() * sy, box.width() * sx,
            box.height() * sy};
}

void SurvivalFigure::paintPicture(QPainter& painter, const QRectF& target,
                                  const Theme& theme) const {
    if (m_data.picture.isNull() || target.isEmpty()) {
        return;
    }
    painter.save();
    const double scale = target.width() / m_data.picture.width() * painter.deviceTransform().m11();
    // Strongly enlarged, the pixels themselves are what there is to see.
    painter.setRenderHint(QPainter::SmoothPixmapTransform, scale < kPixelsFrom);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.drawImage(target, levelFor(scale));
    for (const SurvivalArea& area : m_data.areas) {
        if (!(area.share > 0)) {
            const QRectF box = mapped(area.box, target);
            painter.fillRect(box, theme.evictedVeil);
            drawHatch(painter, box, theme.evictedHatch);
        }
    }
    if (leavesBorder()) {
        for (const QRectF& part : frameAround(target, mapped(m_covered, target))) {
            painter.fillRect(part, theme.evictedVeil);
        }
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.kept, 1));
    for (const SurvivalPatch& patch : m_data.patches) {
        if (patch.share > 0 && !m_data.isCount) {
            painter.drawRect(mapped(patch.box, target));
        }
    }
    painter.setPen(QPen(theme.axis, 1));
    painter.drawRect(target);
    painter.restore();
}

void SurvivalFigure::paintFrame(QPainter& painter, const QRectF& area, const Theme& theme) const {
    painter.save();
    drawHeader(painter, theme, area, m_data.title, m_data.subtitle);
    const QRectF space = pictureSpace(area, theme);
    const double height = textHeight(theme, TextRole::Label);
    QRectF row(area.left(), space.bottom() + kSpace, area.width(), height);
    if (m_data.isCount) {
        drawHorizontalColorBar(
            painter, theme, QRectF(row.topLeft(), QSizeF(row.width(), 30)),
            {ColorMap::Viridis, {0, 1, false}, tr("share of heads that keep it"), false});
        row.translate(0, kHorizontalBarHeight + kSpace);
    }
    paintLegend(painter, theme, row);
    painter.restore();
}

void SurvivalFigure::paintLegend(QPainter& painter, const Theme& theme, const QRectF& row) const {
    if (!m_data.instead.isEmpty()) {
        drawParagraph(painter, theme, row, m_data.instead, {TextRole::Label, theme.text});
        return;
    }
    const auto evicted = static_cast<qint64>(m_data.patches.size()) - m_keptPatches;
    double x = row.left();
    const auto swatch = [&](const QString& text, bool veil, bool hatch) {
        const QRectF box(x, row.top() + 1, 22, row.height() - 3);
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.fillRect(box, QColor(0xf2f2f2)); // paper
        if (veil) {
            painter.fillRect(box, theme.evictedVeil);
        }
        if (hatch) {
            drawHatch(painter, box, theme.evictedHatch);
        }
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(veil ? theme.axis : theme.kept, 1));
        painter.drawRect(box);
        const double width = textWidth(theme, TextRole::Label, text);
        drawText(painter, theme, QRectF(box.right() + 6, row.top(), width, row.height()), text,
                 {TextRole::Label, theme.mutedText});
        x = box.right() + 6 + width + 20;
    };
    if (!m_data.isCount) {
        swatch(tr("kept: %1 of %2 patches").arg(m_keptPatches).arg(m_data.patches.size()), false,
               false);
    }
    swatch(tr("evicted: %1").arg(evicted), true, true);
    if (leavesBorder()) {
        swatch(tr("not seen by the model"), true, false);
    }
}

} // namespace ecokv::ui
