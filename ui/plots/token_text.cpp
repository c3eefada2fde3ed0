// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/token_text.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace ecokv::ui {

TokenText::TokenText(QWidget* parent)
    : FigureWidget(parent), m_scrollBar(new QScrollBar(Qt::Vertical, this)) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Prompt tokens and their survival"));
    m_scrollBar->hide();
    connect(m_scrollBar, &QScrollBar::valueChanged, this, [this] { update(); });
}

void TokenText::setFigure(std::shared_ptr<const TokenTextFigure> figure) {
    m_figure = std::move(figure);
    relayout();
}

void TokenText::setSelectedToken(qint64 token) {
    m_selected = token;
    if (const auto index = indexOf(token)) {
        scrollTo(*index);
    }
    update();
}

void TokenText::setHoveredToken(qint64 token) {
    m_hovered = token;
    update();
}

QPointF TokenText::textOrigin() const {
    const QRectF area = figureArea();
    return {area.left(), area.top() + m_figure->headerHeight(theme()) - m_scrollBar->value()};
}

void TokenText::relayout() {
    if (!m_figure) {
        m_layout = {};
        m_scrollBar->hide();
        update();
        return;
    }
    const QRectF area = figureArea();
    const int bar = m_scrollBar->sizeHint().width();
    m_layout = m_figure->layout(area.width() - bar, theme());
    const int top = static_cast<int>(area.top() + m_figure->headerHeight(theme()));
    const int page = std::max(height() - top - 8, 1);
    const int hidden = std::max(0, static_cast<int>(std::ceil(m_layout.height)) - page);
    m_scrollBar->setGeometry(width() - bar, top, bar, page);
    m_scrollBar->setRange(0, hidden);
    m_scrollBar->setPageStep(page);
    m_scrollBar->setSingleStep(static_cast<int>(m_layout.lineHeight));
    m_scrollBar->setVisible(hidden > 0);
    update();
}

void TokenText::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!paintBase(painter)) {
        return;
    }
    m_figure->paintHeader(painter, figureArea(), theme());
    const QRectF page(0, m_scrollBar->geometry().top(), width(), m_scrollBar->pageStep());
    painter.setClipRect(page.adjusted(0, -3, 0, 0)); // frames reach beyond their token
    const QPointF origin = textOrigin();
    const double top = m_scrollBar->value();
    m_figure->paintLines(painter, m_layout, theme(), origin, top, top + page.height());
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setBrush(Qt::NoBrush);
    for (const qint64 token : {m_hovered, m_selected}) {
        if (const auto index = indexOf(token)) {
            const bool isSelected = token == m_selected;
            painter.setPen(QPen(theme().accent, isSelected ? 2.5 : 1.5));
            painter.drawRoundedRect(
                m_layout.boxes[*index].translated(origin).adjusted(-1, -1, 1, 1), 3, 3);
        }
    }
}

std::optional<std::size_t> TokenText::indexAt(const QPointF& position) const {
    if (!m_figure || position.y() < m_scrollBar->geometry().top()) {
        return std::nullopt;
    }
    return m_figure->tokenAt(m_layout, position - textOrigin());
}

std::optional<std::size_t> TokenText::indexOf(qint64 token) const {
    if (!m_figure || token < 0) {
        return std::nullopt;
    }
    // Ascending by token; a run stands for all its tokens.
    const auto& tokens = m_figure->data().tokens;
    auto after =
        std::upper_bound(tokens.begin(), tokens.end(), token,
                         [](qint64 value, const TextToken& item) { return value < item.token; });
    if (after == tokens.begin()) {
        return std::nullopt;
    }
    --after;
    const bool isInside = token < after->token + after->runLength;
    return isInside ? std::optional(static_cast<std::size_t>(after - tokens.begin()))
                    : std::nullopt;
}

void TokenText::scrollTo(std::size_t index) {
    const QRectF box = m_layout.boxes[index];
    if (box.top() < m_scrollBar->value()) {
        m_scrollBar->setValue(static_cast<int>(box.top()));
    } else if (box.bottom() > m_scrollBar->value() + m_scrollBar->pageStep()) {
        m_scrollBar->setValue(static_cast<int>(std::ceil(box.bottom())) - m_scrollBar->pageStep());
    }
}

void TokenText::select(std::size_t index) {
    m_selected = m_figure->data().tokens[index].token;
    scrollTo(index);
    update();
    Q_EMIT tokenSelected(m_selected);
}

void TokenText::mouseMoveEvent(QMouseEvent* event) {
    const auto index = indexAt(event->position());
    const qint64 token = index ? m_figure->data().tokens[*index].token : -1;
    if (token != m_hovered) {
        m_hovered = token;
        update();
        Q_EMIT tokenHovered(token);
    }
}

void TokenText::mousePressEvent(QMouseEvent* event) {
    const auto index = indexAt(event->position());
    if (index && event->button() == Qt::LeftButton) {
        select(*index);
    }
}

void TokenText::leaveEvent(QEvent*) {
    if (m_hovered >= 0) {
        m_hovered = -1;
        update();
        Q_EMIT tokenHovered(-1);
    }
}

void TokenText::wheelEvent(QWheelEvent* event) {
    const double lines = -event->angleDelta().y() / 120.0 * 3;
    m_scrollBar->setValue(m_scrollBar->value() + static_cast<int>(lines * m_layout.lineHeight));
    event->accept();
}

void TokenText::keyPressEvent(QKeyEvent* event) {
    const auto count = m_figure ? m_figure->data().tokens.size() : 0;
    const auto current = indexOf(m_selected);
    const bool isForward = event->key() == Qt::Key_Right;
    if (count > 0 && (isForward || event->key() == Qt::Key_Left)) {
        const std::size_t next = !current    ? 0
                                 : isForward ? std::min(*current + 1, count - 1)
                                             : *current - std::min<std::size_t>(*current, 1);
        select(next);
    } else if (event->key() == Qt::Key_Up || event->key() == Qt::Key_Down) {
        const int step = m_scrollBar->singleStep();
        m_scrollBar->setValue(m_scrollBar->value() + (event->key() == Qt::Key_Up ? -step : step));
    } else if (event->key() == Qt::Key_PageUp || event->key() == Qt::Key_PageDown) {
        const int step = m_scrollBar->pageStep();
        m_scrollBar->setValue(m_scrollBar->value() +
                              (event->key() == Qt::Key_PageUp ? -step : step));
    } else {
        FigureWidget::keyPressEvent(event);
    }
}

void TokenText::resizeEvent(QResizeEvent*) {
    relayout();
}

void TokenText::themeChanged() {
    relayout();
}

} // namespace ecokv::ui
