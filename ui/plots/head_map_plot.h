#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The layer x KV head map as a widget: hover names a cell, click or arrow keys select one.
// GUI thread only.

#include "ui/plots/figure_widget.h"
#include "ui/plots/head_map_figure.h"

namespace ecokv::ui {

class HeadMapPlot : public FigureWidget {
    Q_OBJECT

public:
    explicit HeadMapPlot(QWidget* parent = nullptr);

    void setFigure(std::shared_ptr<const HeadMapFigure> figure); ///< null = empty
    FigurePtr figure() const override { return m_figure; }
    /// Marks a cell without telling anybody (selection made elsewhere).
    void setSelectedCell(int layer, int kvHead);

    QSize sizeHint() const override { return {560, 420}; }

Q_SIGNALS:
    void cellHovered(int layer, int kvHead, double value); ///< -1, -1, NaN: left the map
    void cellSelected(int layer, int kvHead);              ///< by click, Enter or arrow keys

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void select(const HeadCell& cell);
    void hover(const std::optional<HeadCell>& cell);

    std::shared_ptr<const HeadMapFigure> m_figure;
    HeadMapFigure::Marks m_marks;
};

} // namespace ecokv::ui
