// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/head_map_plot.h"

#include <QKeyEvent>
#include <QMouseEvent>

#include <algorithm>
#include <limits>

namespace ecokv::ui {

HeadMapPlot::HeadMapPlot(QWidget* parent) : FigureWidget(parent) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Layer by KV head map"));
}

void HeadMapPlot::setFigure(std::shared_ptr<const HeadMapFigure> figure) {
    m_figure = std::move(figure);
    m_marks.hovered.reset();
    const auto fits = [&](const HeadCell& cell) {
        return m_figure && cell.layer < m_figure->data().layers &&
               cell.kvHead < m_figure->data().kvHeads;
    };
    if (m_marks.selected && !fits(*m_marks.selected)) {
        m_marks.selected.reset();
    }
    update();
}

void HeadMapPlot::setSelectedCell(int layer, int kvHead) {
    const bool isInside = m_figure && layer >= 0 && layer < m_figure->data().layers &&
                          kvHead >= 0 && kvHead < m_figure->data().kvHeads;
    m_marks.selected = isInside ? std::optional(HeadCell{layer, kvHead}) : std::nullopt;
    setAccessibleDescription(isInside ? m_figure->describe(*m_marks.selected) : QString());
    update();
}

void HeadMapPlot::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!paintBase(painter)) {
        return;
    }
    m_figure->paint(painter, figureArea(), theme());
    m_figure->paintMarks(painter, figureArea(), theme(), m_marks);
}

void HeadMapPlot::mouseMoveEvent(QMouseEvent* event) {
    if (m_figure) {
        hover(m_figure->cellAt(figureArea(), theme(), event->position()));
    }
}

void HeadMapPlot::mousePressEvent(QMouseEvent* event) {
    if (!m_figure || event->button() != Qt::LeftButton) {
        return;
    }
    if (const auto cell = m_figure->cellAt(figureArea(), theme(), event->position())) {
        select(*cell);
    }
}

void HeadMapPlot::leaveEvent(QEvent*) {
    hover(std::nullopt);
}

void HeadMapPlot::keyPressEvent(QKeyEvent* event) {
    const HeadCell from = m_marks.selected.value_or(HeadCell{0, 0});
    HeadCell to = from;
    switch (event->key()) {
    case Qt::Key_Up:
        --to.layer;
        break;
    case Qt::Key_Down:
        ++to.layer;
        break;
    case Qt::Key_Left:
        --to.kvHead;
        break;
    case Qt::Key_Right:
        ++to.kvHead;
        break;
    case Qt::Key_Home:
        to.kvHead = 0;
        break;
    case Qt::Key_End:
        to.kvHead = m_figure ? m_figure->data().kvHeads - 1 : 0;
        break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
        break;
    default:
        FigureWidget::keyPressEvent(event);
        return;
    }
    if (!m_figure || m_figure->data().values.empty()) {
        return;
    }
    to.layer = std::clamp(to.layer, 0, m_figure->data().layers - 1);
    to.kvHead = std::clamp(to.kvHead, 0, m_figure->data().kvHeads - 1);
    select(m_marks.selected ? to : from);
}

void HeadMapPlot::select(const HeadCell& cell) {
    setSelectedCell(cell.layer, cell.kvHead);
    Q_EMIT cellSelected(cell.layer, cell.kvHead);
}

void HeadMapPlot::hover(const std::optional<HeadCell>& cell) {
    if (cell == m_marks.hovered) {
        return;
    }
    m_marks.hovered = cell;
    setToolTip(cell ? m_figure->describe(*cell) : QString());
    update();
    if (cell) {
        Q_EMIT cellHovered(cell->layer, cell->kvHead, static_cast<double>(m_figure->value(*cell)));
    } else {
        Q_EMIT cellHovered(-1, -1, std::numeric_limits<double>::quiet_NaN());
    }
}

} // namespace ecokv::ui
