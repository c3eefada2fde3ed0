// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/stat_tile.h"

#include <QLabel>
#include <QVBoxLayout>

namespace ecokv::ui {

StatTile::StatTile(const QString& name, QWidget* parent)
    : QFrame(parent), m_value(new QLabel(QStringLiteral("–"))), m_name(new QLabel(name)),
      m_title(name) {
    setProperty("role", QStringLiteral("tile"));
    m_value->setProperty("role", QStringLiteral("number"));
    m_value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_name->setProperty("role", QStringLiteral("muted"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(10, 6, 10, 6);
    layout->setSpacing(0);
    layout->addWidget(m_value);
    layout->addWidget(m_name);
}

void StatTile::setValue(const QString& value, const QString& detail) {
    m_value->setText(value);
    m_name->setText(detail.isEmpty() ? m_title : detail);
    m_name->setToolTip(detail.isEmpty() ? QString() : m_title);
    setAccessibleName(m_title + QStringLiteral(": ") + value);
}

} // namespace ecokv::ui
