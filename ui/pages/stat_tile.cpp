// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/stat_tile.h"

#include "ui/pages/elided_label.h"

#include <QVBoxLayout>

namespace ecokv::ui {

StatTile::StatTile(const QString& name, QWidget* parent)
    : QFrame(parent), m_value(new ElidedLabel(QStringLiteral("–"))), m_name(new ElidedLabel(name)),
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
    m_value->setFullText(value);
    m_name->setFullText(detail.isEmpty() ? m_title : detail);
    setAccessibleName(m_title + QStringLiteral(": ") + value);
}

} // namespace ecokv::ui
