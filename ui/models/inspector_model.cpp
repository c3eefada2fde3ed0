// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/inspector_model.h"

#include <QFont>

#include <algorithm>

namespace ecokv::ui {

void InspectorModel::setRows(std::vector<InspectorRow> rows) {
    const bool sameLabels = std::equal(rows.begin(), rows.end(), m_rows.begin(), m_rows.end(),
                                       [](const InspectorRow& a, const InspectorRow& b) {
                                           return a.label == b.label && a.isSection == b.isSection;
                                       });
    if (!sameLabels) {
        beginResetModel();
        m_rows = std::move(rows);
        endResetModel();
        return;
    }
    for (int row = 0; row < static_cast<int>(rows.size()); ++row) {
        auto& current = m_rows[static_cast<std::size_t>(row)];
        auto& next = rows[static_cast<std::size_t>(row)];
        if (current.value != next.value) {
            current.value = next.value;
            Q_EMIT dataChanged(index(row, 1), index(row, 1));
        }
    }
}

QString InspectorModel::asText(const std::vector<int>& rows) const {
    QString text;
    for (const int row : rows) {
        const InspectorRow& entry = m_rows[static_cast<std::size_t>(row)];
        text += entry.isSection ? entry.label + u'\n' : entry.label + u'\t' + entry.value + u'\n';
    }
    return text;
}

int InspectorModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int InspectorModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : 2;
}

QVariant InspectorModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    const InspectorRow& row = m_rows[static_cast<std::size_t>(index.row())];
    if (role == Qt::DisplayRole) {
        return index.column() == 0 ? row.label : row.value;
    }
    if (role == Qt::ToolTipRole && !row.isSection) {
        return row.label + QStringLiteral(": ") + row.value;
    }
    if (role == Qt::FontRole && row.isSection) {
        QFont font;
        font.setBold(true);
        return font;
    }
    return {};
}

QVariant InspectorModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
        return {};
    }
    return section == 0 ? tr("Quantity") : tr("Value");
}

Qt::ItemFlags InspectorModel::flags(const QModelIndex& index) const {
    const Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    const bool section = index.isValid() && m_rows[static_cast<std::size_t>(index.row())].isSection;
    return section ? flags & ~Qt::ItemIsSelectable : flags;
}

} // namespace ecokv::ui
