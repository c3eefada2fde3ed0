// SPDX-License-Identifier: GPL-3.0-or-later
// How a scatter is drawn: legend, axes, histograms, marks. Where things lie is scatter_figure.cpp.
#include "ui/plots/scatter_figure.h"

#include "ui/plots/axis_ticks.h"
#include "ui/plots/marker.h"
#include "ui/plots/paint_tools.h"

#include <QPaintEngine>

#include <algorithm>
#include <array>

namespace ecokv::ui {
namespace {

constexpr double kBinPixels = 8.0, kMostBins = 48;
constexpr std::size_t kStampFrom = 3000; ///< marks from which raster devices get stamps

/// Counts along one axis of `length` pixels.
struct Histogram {
    explicit Histogram(double length)
        : kept(static_cast<std::size_t>(std::clamp(length / kBinPixels, 8.0, kMostBins))),
          all(kept.size()), step(length / static_cast<double>(kept.size())) {}

    void add(double pixel, bool isKept) {
        const auto bin = std::min(static_cast<std::size_t>(pixel / step), all.size() - 1);
        ++all[bin];
        kept[bin] += isKept ? 1 : 0;
    }
    /// A count as a share of the highest bin.
    double shareOf(int count) const {
        return double(count) / std::max(1, *std::max_element(all.begin(), all.end()));
    }

    std::vector<int> kept, all;
    double step = 1; ///< pixels per bin
};

double markerSize(std::size_t marks) {
    return marks < 600 ? 8.0 : (marks < 6000 ? 6.0 : 4.5);
}

/// Device pixels per logical pixel of a raster device, 0 for vectors.
double rasterScale(const QPainter& painter) {
    if (painter.paintEngine()->type() != QPaintEngine::Raster) {
        return 0;
    }
    return painter.deviceTransform().m11();
}

} // namespace

void ScatterFigure::paint(QPainter& painter, const QRectF& area, const Theme& theme) const {
    paintView(painter, area, theme, m_fullView);
}

void ScatterFigure::paintView(QPainter& painter, const QRectF& area, const Theme& theme,
                              const ScatterView& view) const {
    painter.save();
    const QRectF plot = plotRect(area, theme);
    const double header = headerHeight(theme, m_data.title, m_data.subtitle);
    drawHeader(painter, theme, area, m_data.title, m_data.subtitle);
    if (!m_data.instead.isEmpty()) {
        drawParagraph(painter, theme, area.adjusted(0, header, 0, 0), m_data.instead,
                      {TextRole::Label, theme.text});
        painter.restore();
        return;
    }
    paintLegend(
        painter, theme,
        QRectF(area.left(), area.top() + header, area.width(), textHeight(theme, TextRole::Label)));
    paintAxes(painter, theme, plot, view);
    paintMarginals(painter, theme, plot, view);
    paintMarks(painter, theme, plot, view);
    painter.restore();
}

void ScatterFigure::paintLegend(QPainter& painter, const Theme& theme, const QRectF& row) const {
    const auto kept = std::count_if(m_data.marks.begin(), m_data.marks.end(),
                                    [](const ScatterMark& mark) { return mark.kept; });
    const auto evicted = static_cast<qint64>(m_data.marks.size()) - kept;
    struct Entry {
        MarkerStyle style;
        QString text;
    };
    const std::array entries = {
        Entry{{TokenKind::Text, true}, tr("kept (%1)").arg(kept)},
        Entry{{TokenKind::Text, false}, tr("evicted (%1)").arg(evicted)},
        Entry{{TokenKind::Text, false}, tr("text")},
        Entry{{TokenKind::Special, false}, tr("special")},
        Entry{{TokenKind::Image, false}, tr("image")},
    };
    double x = row.left() + 5;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        painter.setRenderHint(QPainter::Antialiasing, true);
        drawMarker(painter, theme, {x, row.center().y()}, 8, entries[i].style);
        const double width = textWidth(theme, TextRole::Label, entries[i].text);
        drawText(painter, theme, QRectF(x + 9, row.top(), width, row.height()), entries[i].text,
                 {TextRole::Label, theme.mutedText});
        x += 9 + width + 18;
        if (i == 1) { // fill above, shape from here on
            painter.setPen(QPen(theme.grid, 1));
            painter.drawLine(QPointF(x - 4, row.top() + 2), QPointF(x - 4, row.bottom() - 2));
            x += 10;
        }
    }
}

void ScatterFigure::paintAxes(QPainter& painter, const Theme& theme, const QRectF& plot,
                              const ScatterView& view) const {
    painter.setRenderHint(QPainter::Antialiasing, false);
    const double tickHeight = textHeight(theme, TextRole::Tick);
    const double labelHeight = textHeight(theme, TextRole::Label);
    for (const Tick& tick : linearTicks(view.y0, view.y1, static_cast<int>(plot.height() / 45))) {
        const double y =
            plot.bottom() - (tick.value - view.y0) / (view.y1 - view.y0) * plot.height();
        painter.setPen(QPen(theme.grid, 1));
        painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
        drawText(painter, theme, QRectF(plot.left() - 66, y - tickHeight / 2, 60, tickHeight),
                 tick.label, {TextRole::Tick, theme.text, Qt::AlignRight | Qt::AlignVCenter});
    }
    for (const Tick& tick : xTicks(view, plot.width())) {
        const double x = plot.left() + (tick.value - view.x0) / (view.x1 - view.x0) * plot.width();
        painter.setPen(QPen(theme.grid, 1));
        painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
        drawText(painter, theme, QRectF(x - 40, plot.bottom() + 3, 80, tickHeight), tick.label,
                 {TextRole::Tick, theme.text, Qt::AlignCenter});
    }
    if (m_hasZeros && m_laneEdge > view.x0 && m_laneEdge < view.x1) {
        const double x = plot.left() + (m_laneEdge - view.x0) / (view.x1 - view.x0) * plot.width();
        painter.fillRect(QRectF(plot.left(), plot.top(), x - plot.left(), plot.height()),
                         theme.panel);
        painter.setPen(QPen(theme.axis, 1, Qt::DashLine));
        painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
    }
    painter.setPen(QPen(theme.axis, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(plot);
    drawText(painter, theme,
             QRectF(plot.left(), plot.bottom() + 5 + tickHeight, plot.width(), labelHeight),
             m_data.xLabel, {TextRole::Label, theme.text, Qt::AlignCenter});
    const double widest = textWidth(theme, TextRole::Tick, QStringLiteral("0.000"));
    drawVerticalText(
        painter, theme,
        QRectF(plot.left() - 12 - widest - labelHeight, plot.top(), labelHeight, plot.height()),
        m_data.yLabel, {TextRole::Label, theme.text});
}

std::vector<Tick> ScatterFigure::xTicks(const ScatterView& view, double width) const {
    const int most = std::max(2, static_cast<int>(width / 80));
    if (!m_data.logX) {
        return linearTicks(view.x0, view.x1, most);
    }
    const double low = m_hasZeros ? std::max(view.x0, m_laneEdge) : view.x0;
    auto ticks = low < view.x1 ? logTicks(low, view.x1, most) : std::vector<Tick>();
    if (m_hasZeros && m_zeroLane >= view.x0 && m_zeroLane <= view.x1) {
        ticks.push_back({m_zeroLane, QStringLiteral("0")});
    }
    return ticks;
}

void ScatterFigure::paintMarginals(QPainter& painter, const Theme& theme, const QRectF& plot,
                                   const ScatterView& view) const {
    Histogram ofX(plot.width()), ofY(plot.height());
    for (std::size_t i = 0; i < m_data.marks.size(); ++i) {
        if (const auto place = position(i, plot, view)) {
            ofX.add(place->x() - plot.left(), m_data.marks[i].kept);
            ofY.add(plot.bottom() - place->y(), m_data.marks[i].kept);
        }
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
    for (const bool onlyKept : {false, true}) {
        const QColor& color = onlyKept ? theme.kept : theme.bar;
        for (std::size_t bin = 0; bin < ofX.all.size(); ++bin) {
            const double bar = kMarginal * ofX.shareOf(onlyKept ? ofX.kept[bin] : ofX.all[bin]);
            const double x = plot.left() + static_cast<double>(bin) * ofX.step;
            painter.fillRect(QRectF(x, plot.top() - kMarginalGap - bar, ofX.step - 1, bar), color);
        }
        for (std::size_t bin = 0; bin < ofY.all.size(); ++bin) {
            const double bar = kMarginal * ofY.shareOf(onlyKept ? ofY.kept[bin] : ofY.all[bin]);
            const double y = plot.bottom() - static_cast<double>(bin + 1) * ofY.step;
            painter.fillRect(QRectF(plot.right() + kMarginalGap, y, bar, ofY.step - 1), color);
        }
    }
}

void ScatterFigure::paintMarks(QPainter& painter, const Theme& theme, const QRectF& plot,
                               const ScatterView& view) const {
    const double size = markerSize(m_data.marks.size());
    const double scale = m_data.marks.size() >= kStampFrom ? rasterScale(painter) : 0;
    std::optional<MarkerStamps> stamps;
    const QTransform toDevice = painter.deviceTransform();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, true);
    if (scale > 0) {
        stamps.emplace(theme, size, scale);
        const double ratio = painter.device()->devicePixelRatioF();
        painter.setWorldTransform(QTransform::fromScale(1 / ratio, 1 / ratio));
    }
    for (const bool kept : {false, true}) { // survivors lie on top
        for (std::size_t i = 0; i < m_data.marks.size(); ++i) {
            const ScatterMark& mark = m_data.marks[i];
            const auto place = mark.kept == kept ? position(i, plot, view) : std::nullopt;
            if (!place) {
                continue;
            }
            if (stamps) {
                stamps->stamp(painter, toDevice.map(*place), {mark.kind, kept});
            } else {
                drawMarker(painter, theme, *place, size, {mark.kind, kept});
            }
        }
    }
    painter.restore();
}

} // namespace ecokv::ui
