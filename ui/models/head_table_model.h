#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The table twin of the head map: one row per layer and KV head, one column per metric.
// Qt::UserRole holds plain numbers, to sort by. GUI thread.

#include <QAbstractTableModel>
#include <QString>

#include <vector>

namespace ecokv::ui {

struct HeadColumn {
    QString title, toolTip;
    std::vector<float> values; ///< [layer, kvHead] f32, NaN = not measured
};

class HeadTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    static constexpr int kLabelColumns = 2; ///< layer, KV head

    using QAbstractTableModel::QAbstractTableModel;

    void setColumns(int layers, int kvHeads, std::vector<HeadColumn> columns);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    int layerOf(int row) const { return m_kvHeads > 0 ? row / m_kvHeads : 0; }
    int kvHeadOf(int row) const { return m_kvHeads > 0 ? row % m_kvHeads : 0; }
    int rowOf(int layer, int kvHead) const { return layer * m_kvHeads + kvHead; }

private:
    QVariant number(int row, int column) const;

    int m_layers = 0;
    int m_kvHeads = 0;
    std::vector<HeadColumn> m_columns;
};

} // namespace ecokv::ui
