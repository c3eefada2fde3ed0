// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/scatter_plot.h"

#include "ui/plots/marker.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace ecokv::ui {
namespace {

constexpr double kPickRadius = 9.0;
constexpr double kDragFrom = 4.0;
constexpr double kZoomStep = 1.25;

} // namespace

ScatterPlot::ScatterPlot(QWidget* parent) : FigureWidget(parent) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Importance against diversity"));
}

void ScatterPlot::setFigure(std::shared_ptr<const ScatterFigure> figure) {
    m_figure = std::move(figure);
    m_hovered = -1;
    showAll();
}

void ScatterPlot::setSelectedToken(qint64 token) {
    m_selected = token;
    update();
}

void ScatterPlot::setHoveredToken(qint64 token) {
    m_hovered = token;
    update();
}

void ScatterPlot::showAll() {
    setView(m_figure ? m_figure->fullView() : ScatterView());
}

QRectF ScatterPlot::plotRect() const {
    return m_figure ? m_figure->plotRect(figureArea(), theme()) : QRectF();
}

void ScatterPlot::setView(const ScatterView& view) {
    m_view = view;
    m_cache = QPixmap();
    update();
}

void ScatterPlot::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!paintBase(painter)) {
        return;
    }
    if (m_cache.isNull()) {
        m_cache = QPixmap(size() * devicePixelRatioF());
        m_cache.setDevicePixelRatio(devicePixelRatioF());
        m_cache.fill(theme().background);
        QPainter cached(&m_cache);
        m_figure->paintView(cached, figureArea(), theme(), m_view);
    }
    painter.drawPixmap(0, 0, m_cache);
    painter.setRenderHint(QPainter::Antialiasing, true);
    if (m_hovered != m_selected) {
        paintMarker(painter, m_hovered, false);
    }
    paintMarker(painter, m_selected, true);
}

void ScatterPlot::paintMarker(QPainter& painter, qint64 token, bool selected) const {
    const auto index = indexOf(token);
    const auto place = index ? m_figure->position(*index, plotRect(), m_view) : std::nullopt;
    if (!place) {
        return;
    }
    const ScatterMark& mark = m_figure->data().marks[*index];
    painter.setBrush(theme().background);
    painter.setPen(QPen(theme().accent, selected ? 2.5 : 1.5));
    painter.drawEllipse(*place, 9, 9);
    drawMarker(painter, theme(), *place, 8, {mark.kind, mark.kept});
}

std::optional<std::size_t> ScatterPlot::indexOf(qint64 token) const {
    if (!m_figure || token < 0) {
        return std::nullopt;
    }
    const auto& marks = m_figure->data().marks;
    const auto found = std::find_if(marks.begin(), marks.end(), [token](const ScatterMark& mark) {
        return mark.token == token;
    });
    return found != marks.end() ? std::optional(static_cast<std::size_t>(found - marks.begin()))
                                : std::nullopt;
}

void ScatterPlot::hover(qint64 token) {
    if (token != m_hovered) {
        m_hovered = token;
        update();
        Q_EMIT tokenHovered(token);
    }
}

void ScatterPlot::mouseMoveEvent(QMouseEvent* event) {
    if (!m_figure) {
        return;
    }
    if (event->buttons() & Qt::LeftButton) {
        const QPointF moved = event->position() - m_pressed;
        m_panning = m_panning || std::hypot(moved.x(), moved.y()) > kDragFrom;
        if (m_panning) {
            pan(event->position() - m_dragged);
            m_dragged = event->position();
        }
        return;
    }
    const auto index = m_figure->markAt(event->position(), plotRect(), m_view, kPickRadius);
    hover(index ? m_figure->data().marks[*index].token : -1);
}

void ScatterPlot::mousePressEvent(QMouseEvent* event) {
    m_pressed = m_dragged = event->position();
    m_panning = false;
}

void ScatterPlot::mouseReleaseEvent(QMouseEvent* event) {
    if (!m_figure || m_panning || event->button() != Qt::LeftButton) {
        return;
    }
    if (const auto index = m_figure->markAt(event->position(), plotRect(), m_view, kPickRadius)) {
        m_selected = m_figure->data().marks[*index].token;
        update();
        Q_EMIT tokenSelected(m_selected);
    }
}

void ScatterPlot::mouseDoubleClickEvent(QMouseEvent*) {
    showAll();
}

void ScatterPlot::wheelEvent(QWheelEvent* event) {
    zoom(std::pow(kZoomStep, event->angleDelta().y() / 120.0), event->position());
    event->accept();
}

void ScatterPlot::keyPressEvent(QKeyEvent* event) {
    constexpr double kStep = 40;
    switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return zoom(kZoomStep, plotRect().center());
    case Qt::Key_Minus:
        return zoom(1 / kZoomStep, plotRect().center());
    case Qt::Key_0:
        return showAll();
    case Qt::Key_Left:
        return pan({kStep, 0});
    case Qt::Key_Right:
        return pan({-kStep, 0});
    case Qt::Key_Up:
        return pan({0, kStep});
    case Qt::Key_Down:
        return pan({0, -kStep});
    default:
        FigureWidget::keyPressEvent(event);
    }
}

void ScatterPlot::leaveEvent(QEvent*) {
    hover(-1);
}

bool ScatterPlot::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) {
        return FigureWidget::event(event);
    }
    const auto index = indexOf(m_hovered);
    if (!index || m_figure->data().labels.size() <= *index) {
        QToolTip::hideText();
        return true;
    }
    QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(),
                       m_figure->data().labels[*index], this);
    return true;
}

void ScatterPlot::resizeEvent(QResizeEvent*) {
    m_cache = QPixmap();
}

void ScatterPlot::themeChanged() {
    m_cache = QPixmap();
}

void ScatterPlot::extendMenu(QMenu& menu) {
    menu.addAction(tr("&Show all"), this, &ScatterPlot::showAll)->setEnabled(m_figure != nullptr);
    menu.addSeparator();
}

void ScatterPlot::zoom(double factor, const QPointF& at) {
    const QRectF plot = plotRect();
    if (plot.isEmpty()) {
        return;
    }
    const double fx = std::clamp((at.x() - plot.left()) / plot.width(), 0.0, 1.0);
    const double fy = std::clamp((plot.bottom() - at.y()) / plot.height(), 0.0, 1.0);
    const double x = m_view.x0 + fx * (m_view.x1 - m_view.x0);
    const double y = m_view.y0 + fy * (m_view.y1 - m_view.y0);
    setView({x + (m_view.x0 - x) / factor, x + (m_view.x1 - x) / factor,
             y + (m_view.y0 - y) / factor, y + (m_view.y1 - y) / factor});
}

void ScatterPlot::pan(const QPointF& pixels) {
    const QRectF plot = plotRect();
    if (plot.isEmpty()) {
        return;
    }
    const double dx = -pixels.x() / plot.width() * (m_view.x1 - m_view.x0);
    const double dy = pixels.y() / plot.height() * (m_view.y1 - m_view.y0);
    setView({m_view.x0 + dx, m_view.x1 + dx, m_view.y0 + dy, m_view.y1 + dy});
}

} // namespace ecokv::ui
