#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One number per layer and KV head as a coloured map: layer 0 on top, head 0 left (field case
// F147), range from the finite cells (F143, F145), row and column means as bars, colour bar.

#include "ui/plots/color_maps.h"
#include "ui/plots/figure.h"

#include <QCoreApplication>
#include <QPoint>

#include <optional>
#include <set>
#include <vector>

namespace ecokv::ui {

struct HeadCell {
    int layer = 0, kvHead = 0;
    bool operator==(const HeadCell&) const = default;
};

struct HeadMapData {
    QString title;       ///< "Head redundancy"
    QString metricLabel; ///< on the colour bar: "redundancy r"
    QString unit;        ///< "tokens", "" = none
    int layers = 0, kvHeads = 0;
    std::vector<float> values;           ///< [layer, kvHead] f32, NaN = not measured
    std::set<std::int64_t> linearLayers; ///< without a KV cache
    std::set<std::int64_t> notFinite;    ///< layers with NaN or Inf in keys, values or queries
    /// [layer] whether it is part of lowest, highest and means; empty = every layer is.
    std::vector<bool> counted;
    std::int64_t slidingLeftOut = 0; ///< layers that slide among those that are not
    ColorMap colorMap = ColorMap::Viridis;
    std::optional<ValueRange> fixedRange; ///< instead of the data's own
};

class HeadMapFigure final : public Figure {
    Q_DECLARE_TR_FUNCTIONS(ecokv::ui::HeadMapFigure)

public:
    /// What is marked on top; not part of the data.
    struct Marks {
        std::optional<HeadCell> selected, hovered;
    };

    /// Throws Error{Internal} if values do not fit layers x kvHeads.
    HeadMapFigure(HeadMapData data, FigureSource source);

    void paint(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    void paintMarks(QPainter& painter, const QRectF& area, const Theme& theme,
                    const Marks& marks) const;
    QString title() const override { return m_data.title; }

    const HeadMapData& data() const { return m_data; }
    const ValueRange& range() const { return m_range; }
    float value(const HeadCell& cell) const; ///< NaN = not measured
    /// Means over finite cells; NaN if there is none. Those of heads over layers that count.
    std::vector<float> layerMeans() const;
    std::vector<float> headMeans() const;
    /// [layer, kvHead], NaN also for layers that do not count.
    std::vector<float> countedValues() const;
    QString summary() const; ///< number of heads, extent and mean, of the layers that count

    QRectF cellRect(const QRectF& area, const Theme& theme, const HeadCell& cell) const;
    std::optional<HeadCell> cellAt(const QRectF& area, const Theme& theme,
                                   const QPointF& position) const;
    /// "layer 3, head 1: redundancy r 0.82".
    QString describe(const HeadCell& cell) const;

private:
    struct Layout;

    Layout layoutIn(const QRectF& area, const Theme& theme) const;
    void paintCells(QPainter& painter, const Layout& layout, const Theme& theme) const;
    void paintMeans(QPainter& painter, const Layout& layout, const Theme& theme) const;
    void paintMean(QPainter& painter, const Theme& theme, const QRectF& track, float mean,
                   bool upwards) const;
    void paintAxes(QPainter& painter, const Layout& layout, const Theme& theme) const;
    void paintMissingLegend(QPainter& painter, const Layout& layout, const Theme& theme) const;
    QString missingText() const; ///< what the hatched cells are
    QString valueLabel() const;  ///< with its unit

    HeadMapData m_data;
    ValueRange m_range;
    bool m_hasMissing = false;
    bool m_isWhole = false; ///< every value is a whole number
};

} // namespace ecokv::ui
