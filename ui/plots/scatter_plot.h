#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Importance against diversity as a widget: hover names a token, click selects it, wheel zooms,
// drag pans, double click shows all. The marks are drawn once per view, not per hover.
// GUI thread only.

#include "ui/plots/figure_widget.h"
#include "ui/plots/scatter_figure.h"

#include <QPixmap>

namespace ecokv::ui {

class ScatterPlot : public FigureWidget {
    Q_OBJECT

public:
    explicit ScatterPlot(QWidget* parent = nullptr);

    void setFigure(std::shared_ptr<const ScatterFigure> figure); ///< null = empty
    FigurePtr figure() const override { return m_figure; }
    void setSelectedToken(qint64 token); ///< -1 = none; tells nobody
    void setHoveredToken(qint64 token);  ///< hovered elsewhere; -1 = none
    void showAll();

    QSize sizeHint() const override { return {560, 420}; }

Q_SIGNALS:
    void tokenHovered(qint64 token); ///< -1: none
    void tokenSelected(qint64 token);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;
    bool event(QEvent* event) override;
    void themeChanged() override;
    void extendMenu(QMenu& menu) override;

private:
    QRectF plotRect() const;
    void setView(const ScatterView& view);
    void zoom(double factor, const QPointF& at);
    void pan(const QPointF& pixels);
    void hover(qint64 token);
    void paintMarker(QPainter& painter, qint64 token, bool selected) const;
    std::optional<std::size_t> indexOf(qint64 token) const;

    std::shared_ptr<const ScatterFigure> m_figure;
    ScatterView m_view;
    QPixmap m_cache; ///< axes and marks of m_view
    qint64 m_selected = -1, m_hovered = -1;
    QPointF m_pressed, m_dragged;
    bool m_panning = false;
};

} // namespace ecokv::ui
