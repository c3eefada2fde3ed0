// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/cache_length_figure.h"

#include "ui/plots/axis_ticks.h"
#include "ui/plots/paint_tools.h"

#include <QPolygonF>

#include <algorithm>
#include <cmath>

namespace ecokv::ui {
namespace {

constexpr double kHeadroom = 1.08;        ///< above the highest value
constexpr std::size_t kDotsUpTo = 64;     ///< steps that are marked one by one
constexpr double kTickGap = 6, kKey = 26; ///< length of a line in the legend

QPen meanPen(const Theme& theme) {
    return QPen(theme.kept, 2);
}

QPen longestPen(const Theme& theme) {
    return QPen(theme.text, 1.5, Qt::DashLine);
}

QPen boundPen(const Theme& theme) {
    return QPen(theme.mutedText, 1.5, Qt::DotLine);
}

QString widestTick(double top) {
    return QString(std::max<qsizetype>(QString::number(std::ceil(top)).size(), 3), u'0');
}

} // namespace

CacheLengthFigure::CacheLengthFigure(CacheLengthData data, FigureSource source)
    : Figure(std::move(source)), m_data(std::move(data)) {
    double highest = m_data.bound.value_or(0);
    for (const auto* values : {&m_data.mean, &m_data.longest}) {
        for (const double value : *values) {
            highest = std::max(highest, value);
        }
    }
    m_top = std::max(highest * kHeadroom, 1.0);
    m_lastStep = std::max(static_cast<double>(m_data.mean.size()) - 1, 1.0);
}

QRectF CacheLengthFigure::plotRect(const QRectF& area, const Theme& theme) const {
    const double tick = textHeight(theme, TextRole::Tick);
    const double label = textHeight(theme, TextRole::Label);
    const double top = headerHeight(theme, m_data.title, m_data.subtitle) + label + kSpace;
    const double left = label + textWidth(theme, TextRole::Tick, widestTick(m_top)) + 2 * kTickGap;
    return QRectF(QPointF(std::round(area.left() + left), std::round(area.top() + top)),
                  QPointF(std::round(area.right() - kSpace),
                          std::round(area.bottom() - tick - label - kTickGap)));
}

QPointF CacheLengthFigure::position(double step, double tokens, const QRectF& plot) const {
    return {plot.left() + step / m_lastStep * plot.width(),
            plot.bottom() - tokens / m_top * plot.height()};
}

std::optional<std::size_t> CacheLengthFigure::stepAt(const QPointF& at, const QRectF& plot) const {
    if (m_data.mean.empty() || !plot.adjusted(-kSpace, 0, kSpace, 0).contains(at)) {
        return std::nullopt;
    }
    const double step = std::round((at.x() - plot.left()) / plot.width() * m_lastStep);
    const auto last = static_cast<double>(m_data.mean.size() - 1);
    return static_cast<std::size_t>(std::clamp(step, 0.0, last));
}

void CacheLengthFigure::paint(QPainter& painter, const QRectF& area, const Theme& theme) const {
    const QRectF plot = plotRect(area, theme);
    if (plot.width() < 1 || plot.height() < 1) {
        return;
    }
    painter.save();
    drawHeader(painter, theme, area, m_data.title, m_data.subtitle);
    const double header = headerHeight(theme, m_data.title, m_data.subtitle);
    paintLegend(
        painter, theme,
        QRectF(area.left(), area.top() + header, area.width(), textHeight(theme, TextRole::Label)));
    paintAxes(painter, theme, plot);
    painter.setRenderHint(QPainter::Antialiasing, true);
    if (m_data.bound) {
        painter.setPen(boundPen(theme));
        painter.drawLine(position(0, *m_data.bound, plot),
                         position(m_lastStep, *m_data.bound, plot));
    }
    painter.setBrush(theme.kept);
    painter.setPen(meanPen(theme));
    paintLine(painter, plot, m_data.mean);
    painter.setBrush(theme.background); // over the mean: both are seen where they meet
    painter.setPen(longestPen(theme));
    paintLine(painter, plot, m_data.longest);
    painter.restore();
}

void CacheLengthFigure::paintLine(QPainter& painter, const QRectF& plot,
                                  const std::vector<double>& values) const {
    QPolygonF line;
    for (std::size_t step = 0; step < values.size(); ++step) {
        line << position(static_cast<double>(step), values[step], plot);
    }
    painter.drawPolyline(line);
    if (values.size() > kDotsUpTo) {
        return;
    }
    QPen pen = painter.pen();
    pen.setStyle(Qt::SolidLine);
    painter.setPen(pen);
    for (const QPointF& place : line) {
        painter.drawEllipse(place, 2.5, 2.5);
    }
}

void CacheLengthFigure::paintLegend(QPainter& painter, const Theme& theme,
                                    const QRectF& row) const {
    struct Entry {
        QPen pen;
        QString text;
    };
    std::vector<Entry> entries = {{meanPen(theme), tr("mean of the heads")},
                                  {longestPen(theme), tr("longest head")}};
    if (m_data.bound) {
        entries.push_back(
            {boundPen(theme), tr("bound of the mean, %1 tokens").arg(shortNumber(*m_data.bound))});
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
    double x = row.left();
    for (const Entry& entry : entries) {
        painter.setPen(entry.pen);
        painter.drawLine(QPointF(x, row.center().y()), QPointF(x + kKey, row.center().y()));
        const double width = textWidth(theme, TextRole::Label, entry.text);
        drawText(painter, theme, QRectF(x + kKey + 6, row.top(), width, row.height()), entry.text,
                 {TextRole::Label, theme.mutedText});
        x += kKey + 6 + width + 18;
    }
}

void CacheLengthFigure::paintAxes(QPainter& painter, const Theme& theme, const QRectF& plot) const {
    painter.setRenderHint(QPainter::Antialiasing, false);
    const double tickHeight = textHeight(theme, TextRole::Tick);
    const double labelHeight = textHeight(theme, TextRole::Label);
    const double tickWidth = textWidth(theme, TextRole::Tick, widestTick(m_top));
    const int rows = std::max(2, static_cast<int>(plot.height() / 40));
    for (const Tick& tick : linearTicks(0, m_top, rows)) {
        const double y = position(0, tick.value, plot).y();
        painter.setPen(QPen(theme.grid, 1));
        painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
        drawText(
            painter, theme,
            QRectF(plot.left() - kTickGap - tickWidth, y - tickHeight / 2, tickWidth, tickHeight),
            tick.label, {TextRole::Tick, theme.text, Qt::AlignRight | Qt::AlignVCenter});
    }
    const int columns = std::max(2, static_cast<int>(plot.width() / 60));
    for (const Tick& tick : indexTicks(static_cast<int>(m_data.mean.size()), columns)) {
        const double x = position(tick.value, 0, plot).x();
        painter.setPen(QPen(theme.grid, 1));
        painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
        drawText(painter, theme, QRectF(x - 30, plot.bottom() + 3, 60, tickHeight), tick.label,
                 {TextRole::Tick, theme.text, Qt::AlignCenter});
    }
    painter.setPen(QPen(theme.axis, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(plot);
    drawText(painter, theme,
             QRectF(plot.left(), plot.bottom() + 4 + tickHeight, plot.width(), labelHeight),
             tr("step of the answer (tokens generated before it)"),
             {TextRole::Label, theme.text, Qt::AlignCenter});
    const QString label = tr("tokens per KV head");
    const bool fits = textWidth(theme, TextRole::Label, label) <= plot.height();
    drawVerticalText(painter, theme,
                     QRectF(plot.left() - 2 * kTickGap - tickWidth - labelHeight, plot.top(),
                            labelHeight, plot.height()),
                     fits ? label : tr("tokens"), {TextRole::Label, theme.text});
}

} // namespace ecokv::ui
