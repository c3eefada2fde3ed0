#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the Inspector shows: label and value rows in fixed sections. Rows keep their place while
// their values change, so that nothing moves under the cursor. GUI thread.

#include <QAbstractTableModel>
#include <QString>

#include <vector>

namespace ecokv::ui {

struct InspectorRow {
    QString label;
    QString value; ///< "" and isSection: a heading
    bool isSection = false;

    bool operator==(const InspectorRow&) const = default;
};

class InspectorModel : public QAbstractTableModel {
    Q_OBJECT

public:
    using QAbstractTableModel::QAbstractTableModel;

    /// Resets only when labels differ; else changes values in place.
    void setRows(std::vector<InspectorRow> rows);
    const std::vector<InspectorRow>& rows() const { return m_rows; }
    /// "label<TAB>value" lines of the given rows, headings alone on their line.
    QString asText(const std::vector<int>& rows) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

private:
    std::vector<InspectorRow> m_rows;
};

} // namespace ecokv::ui
