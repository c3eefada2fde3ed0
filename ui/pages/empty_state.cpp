// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/empty_state.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace ecokv::ui {

namespace {

constexpr int kTextWidth = 440;

} // namespace

EmptyState::EmptyState(const EmptyText& text, QWidget* parent)
    : QWidget(parent), m_title(new QLabel), m_sentence(new QLabel), m_action(new QPushButton) {
    m_title->setProperty("role", QStringLiteral("heading"));
    m_title->setAlignment(Qt::AlignCenter);
    m_sentence->setAlignment(Qt::AlignCenter);
    m_sentence->setWordWrap(true);
    m_sentence->setMinimumWidth(kTextWidth);
    m_sentence->setProperty("role", QStringLiteral("muted"));
    auto* layout = new QVBoxLayout(this);
    layout->setSpacing(12);
    layout->addStretch(2);
    layout->addWidget(m_title, 0, Qt::AlignHCenter);
    auto* row = new QHBoxLayout; // not centred by alignment: the height must follow the width
    row->addStretch(1);
    row->addWidget(m_sentence, 0);
    row->addStretch(1);
    layout->addLayout(row);
    layout->addWidget(m_action, 0, Qt::AlignHCenter);
    layout->addStretch(3);
    connect(m_action, &QPushButton::clicked, this, &EmptyState::actionRequested);
    setText(text);
}

void EmptyState::setText(const EmptyText& text) {
    m_title->setText(text.title);
    m_sentence->setText(text.sentence);
    m_action->setText(text.action);
    m_action->setVisible(!text.action.isEmpty());
}

} // namespace ecokv::ui
