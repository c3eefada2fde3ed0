#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The table twin of the cache length figure: one row per step of the answer. GUI thread.

#include <QAbstractTableModel> // first: moc of Qt 6.4 cannot parse <compare> on its own

#include "analysis/cache_length.h"

namespace ecokv::ui {

class CacheLengthModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { Step, Text, Mean, Longest, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    /// `texts` [step] of the answer's tokens; may be shorter.
    void setLengths(analysis::CacheLengths lengths, std::vector<std::string> texts);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    analysis::CacheLengths m_lengths;
    std::vector<std::string> m_texts;
};

} // namespace ecokv::ui
