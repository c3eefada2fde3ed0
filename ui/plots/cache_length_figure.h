#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Tokens per KV head over the steps of an answer: mean (solid), longest head (dashed) and the bound
// that was asked for (dotted), from 0 upwards (field case F030).

#include "ui/plots/figure.h"

#include <QCoreApplication>
#include <QPointF>

#include <optional>
#include <vector>

namespace ecokv::ui {

struct CacheLengthData {
    QString title, subtitle;
    std::vector<double> mean, longest; ///< [step] tokens per KV head
    std::vector<QString> labels;       ///< [step] what the tooltip shows; may be empty
    std::optional<double> bound;       ///< tokens per head on average
};

class CacheLengthFigure final : public Figure {
    Q_DECLARE_TR_FUNCTIONS(ecokv::ui::CacheLengthFigure)

public:
    CacheLengthFigure(CacheLengthData data, FigureSource source);

    void paint(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    QString title() const override { return m_data.title; }

    const CacheLengthData& data() const { return m_data; }
    QRectF plotRect(const QRectF& area, const Theme& theme) const;
    /// Where a step and a number of tokens lie.
    QPointF position(double step, double tokens, const QRectF& plot) const;
    /// The step nearest to a place; nothing outside the plot or without steps.
    std::optional<std::size_t> stepAt(const QPointF& at, const QRectF& plot) const;

private:
    void paintLegend(QPainter& painter, const Theme& theme, const QRectF& row) const;
    void paintAxes(QPainter& painter, const Theme& theme, const QRectF& plot) const;
    void paintLine(QPainter& painter, const QRectF& plot, const std::vector<double>& values) const;

    CacheLengthData m_data;
    double m_lastStep = 1, m_top = 1; ///< ends of the axes
};

} // namespace ecokv::ui
