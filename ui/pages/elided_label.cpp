// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/elided_label.h"

#include <QEvent>

namespace ecokv::ui {

ElidedLabel::ElidedLabel(const QString& text, QWidget* parent) : QLabel(parent) {
    setTextFormat(Qt::PlainText);
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    setFullText(text);
}

void ElidedLabel::setFullText(const QString& text) {
    m_text = text;
    elide();
}

QSize ElidedLabel::minimumSizeHint() const {
    return {0, QLabel::minimumSizeHint().height()};
}

void ElidedLabel::resizeEvent(QResizeEvent* event) {
    QLabel::resizeEvent(event);
    elide();
}

void ElidedLabel::changeEvent(QEvent* event) {
    QLabel::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) {
        elide();
    }
}

void ElidedLabel::elide() {
    const QString shown = fontMetrics().elidedText(m_text, Qt::ElideRight, width());
    if (shown != text()) {
        setText(shown);
    }
    setToolTip(shown == m_text ? QString() : m_text);
}

} // namespace ecokv::ui
