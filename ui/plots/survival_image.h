#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The picture with its surviving patches as a widget: wheel or +/- zooms, drag or arrow keys pan,
// 0 fits; hover and click name a token. GUI thread only.

#include "ui/plots/figure_widget.h"
#include "ui/plots/survival_figure.h"

namespace ecokv::ui {

class SurvivalImage : public FigureWidget {
    Q_OBJECT

public:
    explicit SurvivalImage(QWidget* parent = nullptr);

    /// null = empty. Zoom and position stay while the picture has the same size.
    void setFigure(std::shared_ptr<const SurvivalFigure> figure);
    FigurePtr figure() const override { return m_figure; }
    void setSelectedToken(qint64 token); ///< -1 = none; tells nobody
    void setHoveredToken(qint64 token);  ///< hovered elsewhere; -1 = none
    void fit();

    QSize sizeHint() const override { return {480, 480}; }

Q_SIGNALS:
    void tokenHovered(qint64 token); ///< -1: none
    void tokenSelected(qint64 token);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void extendMenu(QMenu& menu) override;

private:
    QRectF targetRect() const; ///< the whole picture on screen, zoomed
    QPointF toSource(const QPointF& position) const;
    void zoom(double factor, const QPointF& at);
    void pan(const QPointF& pixels);
    void hover(qint64 token);
    qint64 tokenAt(const QPointF& position) const;

    std::shared_ptr<const SurvivalFigure> m_figure;
    double m_zoom = 1;
    QPointF m_offset; ///< of the zoomed picture from its centred place, pixels
    qint64 m_selected = -1, m_hovered = -1;
    QPointF m_pressed, m_dragged;
    bool m_panning = false;
};

} // namespace ecokv::ui
