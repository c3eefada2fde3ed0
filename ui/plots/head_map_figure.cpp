// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/head_map_figure.h"

#include "base/error.h"
#include "ui/plots/paint_tools.h"

#include <algorithm>
#include <cmath>

namespace ecokv::ui {
namespace {

constexpr double kSummary = 46.0; ///< length of the bars of means
constexpr double kGap = 6.0;

bool allWhole(const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float value) {
        return !std::isfinite(value) || value == std::round(value);
    });
}

} // namespace

/// Where the parts of the map go.
struct HeadMapFigure::Layout {
    QRectF header, headBars, map, layerBars, colorBar, bottom;
    double cellWidth = 0, cellHeight = 0;

    QRectF cell(int layer, int kvHead) const {
        return {map.left() + kvHead * cellWidth, map.top() + layer * cellHeight, cellWidth,
                cellHeight};
    }
};

HeadMapFigure::HeadMapFigure(HeadMapData data, FigureSource source)
    : Figure(std::move(source)), m_data(std::move(data)) {
    const auto cells =
        static_cast<std::size_t>(m_data.layers) * static_cast<std::size_t>(m_data.kvHeads);
    if (m_data.layers < 0 || m_data.kvHeads < 0 || m_data.values.size() != cells) {
        throwInternal("A head map has " + std::to_string(m_data.values.size()) + " values for " +
                      std::to_string(m_data.layers) + " layers of " +
                      std::to_string(m_data.kvHeads) + " KV heads.");
    }
    m_range = m_data.fixedRange.value_or(ValueRange::ofFinite(m_data.values));
    if (m_data.colorMap == ColorMap::Diverging && !m_data.fixedRange) {
        m_range = m_range.symmetric();
    }
    m_isWhole = allWhole(m_data.values);
    m_hasMissing = !std::all_of(m_data.values.begin(), m_data.values.end(),
                                [](float value) { return std::isfinite(value); });
}

float HeadMapFigure::value(const HeadCell& cell) const {
    return m_data.values[static_cast<std::size_t>(cell.layer * m_data.kvHeads + cell.kvHead)];
}

HeadMapFigure::Layout HeadMapFigure::layoutIn(const QRectF& area, const Theme& theme) const {
    Layout layout;
    const double tick = textHeight(theme, TextRole::Tick);
    const double label = textHeight(theme, TextRole::Label);
    const double header = headerHeight(theme, m_data.title, summary());
    const double left =
        label + kGap + textWidth(theme, TextRole::Tick, QString::number(m_data.layers)) + kGap;
    const double bottom = tick + 3 + label + (m_hasMissing ? label + kSpace : 0);
    const double top = header + kSummary + kGap;
    const double mapHeight = std::max(area.height() - top - bottom - kGap, 1.0);
    const double bar =
        colorBarWidth(theme, {m_data.colorMap, m_range, valueLabel(), m_isWhole}, mapHeight);
    const double right = kGap + kSummary + 3 * kSpace + bar;
    layout.header = QRectF(area.left(), area.top(), area.width(), header);
    // Whole pixels, so that cells meet without seams.
    layout.cellWidth = std::max(area.width() - left - right, 1.0) / std::max(m_data.kvHeads, 1);
    layout.cellHeight = mapHeight / std::max(m_data.layers, 1);
    for (double* size : {&layout.cellWidth, &layout.cellHeight}) {
        *size = *size > 6 ? std::floor(*size) : *size;
    }
    layout.map = QRectF(std::round(area.left() + left), std::round(area.top() + top),
                        layout.cellWidth * m_data.kvHeads, layout.cellHeight * m_data.layers);
    layout.headBars =
        QRectF(layout.map.left(), layout.map.top() - kGap - kSummary, layout.map.width(), kSummary);
    layout.layerBars =
        QRectF(layout.map.right() + kGap, layout.map.top(), kSummary, layout.map.height());
    layout.colorBar =
        QRectF(layout.layerBars.right() + 3 * kSpace, layout.map.top(), bar, layout.map.height());
    layout.bottom = QRectF(layout.map.left(), layout.map.bottom(), layout.map.width(), bottom);
    return layout;
}

void HeadMapFigure::paint(QPainter& painter, const QRectF& area, const Theme& theme) const {
    const Layout layout = layoutIn(area, theme);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    drawHeader(painter, theme, layout.header, m_data.title, summary());
    paintCells(painter, layout, theme);
    paintMeans(painter, layout, theme);
    paintAxes(painter, layout, theme);
    drawVerticalColorBar(painter, theme, layout.colorBar,
                         {m_data.colorMap, m_range, valueLabel(), m_isWhole});
    painter.restore();
}

void HeadMapFigure::paintCells(QPainter& painter, const Layout& layout, const Theme& theme) const {
    const double digits = textWidth(theme, TextRole::Value, QStringLiteral("0.0000"));
    const bool showsValues = layout.cellWidth >= digits + 4 &&
                             layout.cellHeight >= textHeight(theme, TextRole::Value) + 4;
    const double gap = std::min(layout.cellWidth, layout.cellHeight) >= 12 ? 1 : 0;
    for (int layer = 0; layer < m_data.layers; ++layer) {
        for (int kvHead = 0; kvHead < m_data.kvHeads; ++kvHead) {
            const QRectF cell = layout.cell(layer, kvHead).adjusted(0, 0, -gap, -gap);
            const float number = value({layer, kvHead});
            if (!std::isfinite(number)) {
                painter.fillRect(cell, theme.notMeasured);
                drawHatch(painter, cell, theme.notMeasuredHatch);
                continue;
            }
            const QColor color = colorAt(m_data.colorMap, m_range.fraction(number));
            painter.fillRect(cell, color);
            if (showsValues) {
                drawText(painter, theme, cell, shortNumber(number),
                         {TextRole::Value, readableOn(color), Qt::AlignCenter});
            }
        }
    }
}

void HeadMapFigure::paintMeans(QPainter& painter, const Layout& layout, const Theme& theme) const {
    const auto layers = layerMeans();
    for (int layer = 0; layer < m_data.layers; ++layer) {
        const float mean = layers[static_cast<std::size_t>(layer)];
        const QRectF row(layout.layerBars.left(), layout.cell(layer, 0).top(), kSummary,
                         layout.cellHeight);
        paintMean(painter, theme, row, mean, false);
    }
    const auto heads = headMeans();
    for (int kvHead = 0; kvHead < m_data.kvHeads; ++kvHead) {
        const float mean = heads[static_cast<std::size_t>(kvHead)];
        const QRectF column(layout.cell(0, kvHead).left(), layout.headBars.top(), layout.cellWidth,
                            kSummary);
        paintMean(painter, theme, column, mean, true);
    }
    const double height = textHeight(theme, TextRole::Tick);
    drawText(
        painter, theme,
        QRectF(layout.layerBars.left(), layout.map.top() - kGap - height, kSummary + 20, height),
        tr("mean"), {TextRole::Tick, theme.mutedText});
}

void HeadMapFigure::paintMean(QPainter& painter, const Theme& theme, const QRectF& track,
                              float mean, bool upwards) const {
    const double across = upwards ? track.width() : track.height();
    const double margin = across >= 12 ? std::max((across - 14) / 2, 1.0) : 0;
    QRectF lane = upwards ? track.adjusted(margin, 0, -margin - (across >= 12 ? 1 : 0), 0)
                          : track.adjusted(0, margin, 0, -margin - (across >= 12 ? 1 : 0));
    painter.fillRect(lane, theme.panel);
    if (!std::isfinite(mean)) {
        return;
    }
    // Signed metrics grow from the middle, where their 0 is.
    const double zero = m_data.colorMap == ColorMap::Diverging ? 0.5 : 0.0;
    const double t = std::clamp(m_range.fraction(mean), 0.0, 1.0);
    const double from = std::min(t, zero) * kSummary;
    const double length = std::max(std::abs(t - zero) * kSummary, 1.0);
    painter.fillRect(upwards
                         ? QRectF(lane.left(), lane.bottom() - from - length, lane.width(), length)
                         : QRectF(lane.left() + from, lane.top(), length, lane.height()),
                     theme.bar);
    const double height = textHeight(theme, TextRole::Tick);
    const bool hasRoom = upwards ? across >= 100 : across >= 2 * height + 18;
    if (hasRoom) {
        const QPointF place = upwards ? QPointF(lane.right() + 5, lane.bottom() - height)
                                      : QPointF(lane.left(), lane.bottom() + 1);
        drawText(painter, theme, QRectF(place, QSizeF(60, height)), shortNumber(mean),
                 {TextRole::Tick, theme.mutedText});
    }
}

void HeadMapFigure::paintAxes(QPainter& painter, const Layout& layout, const Theme& theme) const {
    const double tickHeight = textHeight(theme, TextRole::Tick);
    const double labelHeight = textHeight(theme, TextRole::Label);
    const double tickWidth = textWidth(theme, TextRole::Tick, QString::number(m_data.layers));
    for (const Tick& tick :
         indexTicks(m_data.layers, static_cast<int>(layout.map.height() / (tickHeight + 2)))) {
        const QRectF cell = layout.cell(static_cast<int>(tick.value), 0);
        drawText(painter, theme,
                 QRectF(layout.map.left() - kGap - tickWidth, cell.center().y() - tickHeight / 2,
                        tickWidth, tickHeight),
                 tick.label, {TextRole::Tick, theme.text, Qt::AlignRight | Qt::AlignVCenter});
    }
    const double widest = textWidth(theme, TextRole::Tick, QString::number(m_data.kvHeads));
    for (const Tick& tick :
         indexTicks(m_data.kvHeads, static_cast<int>(layout.map.width() / (widest + 8)))) {
        const QRectF cell = layout.cell(0, static_cast<int>(tick.value));
        drawText(painter, theme,
                 QRectF(cell.center().x() - 30, layout.map.bottom() + 3, 60, tickHeight),
                 tick.label, {TextRole::Tick, theme.text, Qt::AlignCenter});
    }
    drawText(painter, theme,
             QRectF(layout.map.left(), layout.map.bottom() + 3 + tickHeight, layout.map.width(),
                    labelHeight),
             tr("KV head"), {TextRole::Label, theme.text, Qt::AlignCenter});
    drawVerticalText(painter, theme,
                     QRectF(layout.map.left() - 2 * kGap - tickWidth - labelHeight,
                            layout.map.top(), labelHeight, layout.map.height()),
                     tr("layer"), {TextRole::Label, theme.text});
    if (m_hasMissing) {
        paintMissingLegend(painter, layout, theme);
    }
}

void HeadMapFigure::paintMissingLegend(QPainter& painter, const Layout& layout,
                                       const Theme& theme) const {
    const double height = textHeight(theme, TextRole::Label);
    const QRectF swatch(layout.map.left(), layout.bottom.bottom() - height, 22, height - 3);
    painter.fillRect(swatch, theme.notMeasured);
    drawHatch(painter, swatch, theme.notMeasuredHatch);
    drawText(painter, theme,
             QRectF(swatch.right() + kGap, swatch.top() - 1, layout.map.width(), height),
             missingText(), {TextRole::Label, theme.mutedText});
}

void HeadMapFigure::paintMarks(QPainter& painter, const QRectF& area, const Theme& theme,
                               const Marks& marks) const {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setBrush(Qt::NoBrush);
    // A light and a dark line: visible on every colour of the map.
    const auto frame = [&](const HeadCell& cell, double width, const QColor& color) {
        const QRectF rect = cellRect(area, theme, cell).adjusted(-0.5, -0.5, -0.5, -0.5);
        painter.setPen(
            QPen(QColor(0, 0, 0, 160), width + 2, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
        painter.drawRect(rect);
        painter.setPen(QPen(color, width, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
        painter.drawRect(rect);
    };
    if (marks.hovered && marks.hovered != marks.selected) {
        frame(*marks.hovered, 1, QColor(0xffffff));
    }
    if (marks.selected) {
        frame(*marks.selected, 2, theme.accent);
    }
    painter.restore();
}

QRectF HeadMapFigure::cellRect(const QRectF& area, const Theme& theme, const HeadCell& cell) const {
    return layoutIn(area, theme).cell(cell.layer, cell.kvHead);
}

std::optional<HeadCell> HeadMapFigure::cellAt(const QRectF& area, const Theme& theme,
                                              const QPointF& position) const {
    const Layout layout = layoutIn(area, theme);
    if (m_data.values.empty() || !layout.map.contains(position)) {
        return std::nullopt;
    }
    const auto layer = static_cast<int>((position.y() - layout.map.top()) / layout.cellHeight);
    const auto kvHead = static_cast<int>((position.x() - layout.map.left()) / layout.cellWidth);
    return HeadCell{std::min(layer, m_data.layers - 1), std::min(kvHead, m_data.kvHeads - 1)};
}

} // namespace ecokv::ui
