// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/error_bar.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

namespace ecokv::ui {

ErrorBar::ErrorBar(QWidget* parent) : QFrame(parent), m_message(new QLabel), m_advice(new QLabel) {
    setObjectName(QStringLiteral("errorBar"));
    for (QLabel* label : {m_message, m_advice}) {
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    m_message->setProperty("role", QStringLiteral("strong"));
    auto* copy = new QPushButton(tr("Copy details"));
    copy->setToolTip(tr("Put the whole message on the clipboard, for a report."));
    auto* close = new QPushButton(tr("Dismiss"));
    connect(copy, &QPushButton::clicked, this, &ErrorBar::copyDetails);
    connect(close, &QPushButton::clicked, this, &ErrorBar::dismiss);
    auto* texts = new QVBoxLayout;
    texts->setSpacing(2);
    texts->addWidget(m_message);
    texts->addWidget(m_advice);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(12, 8, 8, 8);
    layout->addLayout(texts, 1);
    layout->addWidget(copy, 0, Qt::AlignTop);
    layout->addWidget(close, 0, Qt::AlignTop);
    hide();
}

void ErrorBar::showFailure(const JobFailure& failure) {
    m_failure = failure;
    m_message->setText(failure.message);
    m_advice->setText(failure.advice);
    m_advice->setVisible(!failure.advice.isEmpty());
    setAccessibleName(tr("Error: %1").arg(failure.message));
    show();
}

void ErrorBar::dismiss() {
    m_failure = {};
    hide();
}

void ErrorBar::copyDetails() const {
    QGuiApplication::clipboard()->setText(m_failure.details);
}

} // namespace ecokv::ui
