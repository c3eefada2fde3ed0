// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/survival_image.h"

#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>

#include <algorithm>
#include <cmath>

namespace ecokv::ui {
namespace {

constexpr double kDragFrom = 4.0;
constexpr double kZoomStep = 1.25;
constexpr double kMaxZoom = 64.0;

} // namespace

SurvivalImage::SurvivalImage(QWidget* parent) : FigureWidget(parent) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Picture with its surviving patches"));
}

void SurvivalImage::setFigure(std::shared_ptr<const SurvivalFigure> figure) {
    const bool isSamePicture =
        figure && m_figure && figure->data().picture.size() == m_figure->data().picture.size();
    m_figure = std::move(figure);
    if (!isSamePicture) {
        fit();
    }
    update();
}

void SurvivalImage::setSelectedToken(qint64 token) {
    m_selected = token;
    update();
}

void SurvivalImage::setHoveredToken(qint64 token) {
    m_hovered = token;
    update();
}

void SurvivalImage::fit() {
    m_zoom = 1;
    m_offset = {};
    update();
}

QRectF SurvivalImage::targetRect() const {
    const QRectF whole = m_figure->pictureRect(figureArea(), theme());
    const QPointF half(whole.width() * m_zoom / 2, whole.height() * m_zoom / 2);
    return QRectF(whole.center() + m_offset - half, whole.size() * m_zoom);
}

QPointF SurvivalImage::toSource(const QPointF& position) const {
    const QRectF target = targetRect();
    const QSize size = m_figure->data().picture.size();
    return {(position.x() - target.left()) / target.width() * size.width(),
            (position.y() - target.top()) / target.height() * size.height()};
}

qint64 SurvivalImage::tokenAt(const QPointF& position) const {
    if (!m_figure || !m_figure->pictureSpace(figureArea(), theme()).contains(position)) {
        return -1;
    }
    const auto patch = m_figure->patchAt(toSource(position));
    return patch ? m_figure->data().patches[*patch].token : -1;
}

void SurvivalImage::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!paintBase(painter)) {
        return;
    }
    m_figure->paintFrame(painter, figureArea(), theme());
    const QRectF target = targetRect();
    painter.setClipRect(m_figure->pictureSpace(figureArea(), theme()).adjusted(0, 0, 1, 1));
    m_figure->paintPicture(painter, target, theme());
    painter.setBrush(Qt::NoBrush);
    painter.setRenderHint(QPainter::Antialiasing, true);
    const QSize size = m_figure->data().picture.size();
    const double sx = target.width() / size.width(), sy = target.height() / size.height();
    for (const SurvivalPatch& patch : m_figure->data().patches) {
        const bool isSelected = patch.token == m_selected;
        if (!isSelected && patch.token != m_hovered) {
            continue;
        }
        const QRectF box(target.left() + patch.box.left() * sx, target.top() + patch.box.top() * sy,
                         patch.box.width() * sx, patch.box.height() * sy);
        painter.setPen(QPen(QColor(0, 0, 0, 170), isSelected ? 4.5 : 3));
        painter.drawRect(box);
        painter.setPen(QPen(isSelected ? theme().accent : QColor(0xffffff), isSelected ? 2.5 : 1));
        painter.drawRect(box);
    }
}

void SurvivalImage::hover(qint64 token) {
    if (token != m_hovered) {
        m_hovered = token;
        update();
        Q_EMIT tokenHovered(token);
    }
}

void SurvivalImage::mouseMoveEvent(QMouseEvent* event) {
    if (!(event->buttons() & Qt::LeftButton)) {
        hover(tokenAt(event->position()));
        return;
    }
    const QPointF moved = event->position() - m_pressed;
    m_panning = m_panning || std::hypot(moved.x(), moved.y()) > kDragFrom;
    if (m_panning) {
        pan(event->position() - m_dragged);
        m_dragged = event->position();
    }
}

void SurvivalImage::mousePressEvent(QMouseEvent* event) {
    m_pressed = m_dragged = event->position();
    m_panning = false;
}

void SurvivalImage::mouseReleaseEvent(QMouseEvent* event) {
    const qint64 token = tokenAt(event->position());
    if (m_panning || event->button() != Qt::LeftButton || token < 0) {
        return;
    }
    setSelectedToken(token);
    Q_EMIT tokenSelected(token);
}

void SurvivalImage::mouseDoubleClickEvent(QMouseEvent*) {
    fit();
}

void SurvivalImage::wheelEvent(QWheelEvent* event) {
    zoom(std::pow(kZoomStep, event->angleDelta().y() / 120.0), event->position());
    event->accept();
}

void SurvivalImage::keyPressEvent(QKeyEvent* event) {
    constexpr double kStep = 40;
    const QPointF middle = QRectF(rect()).center();
    switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return zoom(kZoomStep, middle);
    case Qt::Key_Minus:
        return zoom(1 / kZoomStep, middle);
    case Qt::Key_0:
        return fit();
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

void SurvivalImage::leaveEvent(QEvent*) {
    hover(-1);
}

void SurvivalImage::extendMenu(QMenu& menu) {
    menu.addAction(tr("&Fit picture"), this, &SurvivalImage::fit)->setEnabled(m_figure != nullptr);
    menu.addSeparator();
}

void SurvivalImage::zoom(double factor, const QPointF& at) {
    if (!m_figure) {
        return;
    }
    const double zoomed = std::clamp(m_zoom * factor, 1.0, kMaxZoom);
    const QPointF centre = targetRect().center();
    // What is under the cursor stays there.
    m_offset += (at - centre) * (1 - zoomed / m_zoom);
    m_zoom = zoomed;
    pan({});
}

void SurvivalImage::pan(const QPointF& pixels) {
    if (!m_figure) {
        return;
    }
    // The picture never leaves its space.
    const QSizeF whole = m_figure->pictureRect(figureArea(), theme()).size();
    const double reachX = whole.width() * (m_zoom - 1) / 2;
    const double reachY = whole.height() * (m_zoom - 1) / 2;
    m_offset += pixels;
    m_offset.setX(std::clamp(m_offset.x(), -reachX, reachX));
    m_offset.setY(std::clamp(m_offset.y(), -reachY, reachY));
    update();
}

} // namespace ecokv::ui
