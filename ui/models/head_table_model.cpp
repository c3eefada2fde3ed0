// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/head_table_model.h"

#include "ui/models/formatting.h"

namespace ecokv::ui {

void HeadTableModel::setColumns(int layers, int kvHeads, std::vector<HeadColumn> columns) {
    beginResetModel();
    m_layers = layers;
    m_kvHeads = kvHeads;
    m_columns = std::move(columns);
    endResetModel();
}

int HeadTableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : m_layers * m_kvHeads;
}

int HeadTableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : kLabelColumns + static_cast<int>(m_columns.size());
}

QVariant HeadTableModel::number(int row, int column) const {
    if (column == 0) {
        return layerOf(row);
    }
    if (column == 1) {
        return kvHeadOf(row);
    }
    const auto& values = m_columns[static_cast<std::size_t>(column - kLabelColumns)].values;
    const auto index = static_cast<std::size_t>(row);
    return index < values.size() ? QVariant(static_cast<double>(values[index])) : QVariant();
}

QVariant HeadTableModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    }
    if (role == Qt::UserRole) {
        return number(index.row(), index.column());
    }
    if (role == Qt::DisplayRole) {
        const QVariant value = number(index.row(), index.column());
        return index.column() < kLabelColumns ? value : QVariant(formatNumber(value.toDouble()));
    }
    return {};
}

QVariant HeadTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) {
        return {};
    }
    if (section < kLabelColumns) {
        return role == Qt::DisplayRole ? QVariant(section == 0 ? tr("Layer") : tr("KV head"))
                                       : QVariant();
    }
    const HeadColumn& column = m_columns[static_cast<std::size_t>(section - kLabelColumns)];
    return role == Qt::DisplayRole   ? QVariant(column.title)
           : role == Qt::ToolTipRole ? QVariant(column.toolTip)
                                     : QVariant();
}

} // namespace ecokv::ui
