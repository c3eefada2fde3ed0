#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Importance against diversity of one head's tokens: survivors filled, evicted hollow and dimmed,
// text, special and image tokens by shape, histograms along both axes. Zeros of a logarithmic axis
// get a lane of their own (field case F146).

#include "ui/plots/figure.h"

#include <QCoreApplication>
#include <QPointF>

#include <optional>
#include <vector>

namespace ecokv::ui {

enum class TokenKind : unsigned char { Text = 0, Special = 1, Image = 2 };

struct Tick;

struct ScatterMark {
    qint64 token = 0;
    float x = 0, y = 0; ///< importance, diversity
    TokenKind kind = TokenKind::Text;
    bool kept = false;
};

struct ScatterData {
    QString title, subtitle; ///< "Layer 2, head 1" / "rank correlation -0.31, ..."
    QString xLabel, yLabel;  ///< with units
    std::vector<ScatterMark> marks;
    std::vector<QString> labels; ///< [mark] what the tooltip shows; may be empty
    bool logX = false;
    QString instead; ///< a sentence in the place of axes and marks: nothing to show
};

/// Visible part of both axes, in data units (log10 of x if logX).
struct ScatterView {
    double x0 = 0, x1 = 1, y0 = 0, y1 = 1;
    bool operator==(const ScatterView&) const = default;
};

class ScatterFigure final : public Figure {
    Q_DECLARE_TR_FUNCTIONS(ecokv::ui::ScatterFigure)

public:
    ScatterFigure(ScatterData data, FigureSource source);

    void paint(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    void paintView(QPainter& painter, const QRectF& area, const Theme& theme,
                   const ScatterView& view) const;
    QString title() const override { return m_data.title; }
    double preferredHeight(double width, const Theme& theme) const override;

    const ScatterData& data() const { return m_data; }
    /// The view that shows every finite mark.
    const ScatterView& fullView() const { return m_fullView; }
    QRectF plotRect(const QRectF& area, const Theme& theme) const;
    /// Screen position of a mark, nothing if it is outside the view or not finite.
    std::optional<QPointF> position(std::size_t mark, const QRectF& plot,
                                    const ScatterView& view) const;
    /// The mark nearest to `at` within `radius` pixels.
    std::optional<std::size_t> markAt(const QPointF& at, const QRectF& plot,
                                      const ScatterView& view, double radius) const;

private:
    static constexpr double kMarginal = 54.0; ///< height of the histograms, pixels
    static constexpr double kMarginalGap = 6.0;

    QPointF axisValue(const ScatterMark& mark) const;
    std::vector<Tick> xTicks(const ScatterView& view, double width) const;
    void paintLegend(QPainter& painter, const Theme& theme, const QRectF& row) const;
    void paintAxes(QPainter& painter, const Theme& theme, const QRectF& plot,
                   const ScatterView& view) const;
    void paintMarginals(QPainter& painter, const Theme& theme, const QRectF& plot,
                        const ScatterView& view) const;
    void paintMarks(QPainter& painter, const Theme& theme, const QRectF& plot,
                    const ScatterView& view) const;

    ScatterData m_data;
    std::vector<QPointF> m_positions; ///< [mark] on the axes, log10 of x if logX
    ScatterView m_fullView;
    bool m_hasZeros = false;               ///< zeros on a logarithmic axis
    double m_zeroLane = 0, m_laneEdge = 0; ///< log10 values where zeros are drawn and the axis ends
};

} // namespace ecokv::ui
