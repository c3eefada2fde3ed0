// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/scatter_figure.h"

#include "ui/plots/paint_tools.h"

#include <algorithm>
#include <cmath>

namespace ecokv::ui {
namespace {

ScatterView padded(ScatterView view) {
    const auto pad = [](double& low, double& high) {
        const double span = high > low ? high - low : std::max(std::abs(high), 1e-6);
        low -= 0.04 * span;
        high += 0.04 * span;
    };
    pad(view.x0, view.x1);
    pad(view.y0, view.y1);
    return view;
}

} // namespace

ScatterFigure::ScatterFigure(ScatterData data, FigureSource source)
    : Figure(std::move(source)), m_data(std::move(data)) {
    bool isEmpty = true;
    for (const ScatterMark& mark : m_data.marks) {
        const bool hasPosition =
            std::isfinite(mark.x) && std::isfinite(mark.y) && (!m_data.logX || mark.x > 0);
        if (!hasPosition) {
            m_hasZeros = m_hasZeros || (m_data.logX && mark.x <= 0);
            continue;
        }
        const double x = m_data.logX ? std::log10(mark.x) : mark.x;
        m_fullView.x0 = isEmpty ? x : std::min(m_fullView.x0, x);
        m_fullView.x1 = isEmpty ? x : std::max(m_fullView.x1, x);
        m_fullView.y0 = isEmpty ? mark.y : std::min(m_fullView.y0, double{mark.y});
        m_fullView.y1 = isEmpty ? mark.y : std::max(m_fullView.y1, double{mark.y});
        isEmpty = false;
    }
    if (m_hasZeros) {
        const double span = std::max(m_fullView.x1 - m_fullView.x0, 0.5);
        m_zeroLane = m_fullView.x0 - 0.08 * span;
        m_laneEdge = m_fullView.x0 - 0.04 * span;
        m_fullView.x0 = m_zeroLane;
    }
    m_fullView = padded(m_fullView);
    m_positions.reserve(m_data.marks.size());
    for (const ScatterMark& mark : m_data.marks) {
        m_positions.push_back(axisValue(mark));
    }
}

QPointF ScatterFigure::axisValue(const ScatterMark& mark) const {
    if (!m_data.logX) {
        return {mark.x, mark.y};
    }
    return {mark.x > 0 ? std::log10(mark.x) : m_zeroLane, mark.y};
}

QRectF ScatterFigure::plotRect(const QRectF& area, const Theme& theme) const {
    const double header = headerHeight(theme, m_data.title, m_data.subtitle);
    const double legend = textHeight(theme, TextRole::Label) + kSpace;
    const double left = textHeight(theme, TextRole::Label) + 6 +
                        textWidth(theme, TextRole::Tick, QStringLiteral("0.000")) + 6;
    const double bottom =
        textHeight(theme, TextRole::Tick) + 6 + textHeight(theme, TextRole::Label);
    return QRectF(QPointF(std::round(area.left() + left),
                          std::round(area.top() + header + legend + kMarginal + kMarginalGap)),
                  QPointF(std::round(area.right() - kMarginal - kMarginalGap),
                          std::round(area.bottom() - bottom)));
}

double ScatterFigure::preferredHeight(double width, const Theme& theme) const {
    return m_data.instead.isEmpty()
               ? 0
               : headerHeight(theme, m_data.title, m_data.subtitle) +
                     paragraphHeight(theme, TextRole::Label, m_data.instead, width);
}

std::optional<QPointF> ScatterFigure::position(std::size_t mark, const QRectF& plot,
                                               const ScatterView& view) const {
    const QPointF at = m_positions[mark];
    const bool isInside =
        at.x() >= view.x0 && at.x() <= view.x1 && at.y() >= view.y0 && at.y() <= view.y1;
    if (!isInside) { // also NaN
        return std::nullopt;
    }
    return QPointF(plot.left() + (at.x() - view.x0) / (view.x1 - view.x0) * plot.width(),
                   plot.bottom() - (at.y() - view.y0) / (view.y1 - view.y0) * plot.height());
}

std::optional<std::size_t> ScatterFigure::markAt(const QPointF& at, const QRectF& plot,
                                                 const ScatterView& view, double radius) const {
    std::optional<std::size_t> best;
    double bestDistance = radius * radius;
    for (std::size_t i = 0; i < m_data.marks.size(); ++i) {
        const auto place = position(i, plot, view);
        if (!place) {
            continue;
        }
        const QPointF away = *place - at;
        const double distance = QPointF::dotProduct(away, away);
        if (distance <= bestDistance) {
            bestDistance = distance;
            best = i;
        }
    }
    return best;
}

} // namespace ecokv::ui
