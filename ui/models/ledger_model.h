#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Tokens kept per layer (rows) and KV head (columns), with the layer's total. GUI thread.

#include <QAbstractTableModel> // first: moc of Qt 6.4 cannot parse <compare> on its own

#include "session/run_result.h"

namespace ecokv::ui {

class LedgerModel : public QAbstractTableModel {
    Q_OBJECT

public:
    using QAbstractTableModel::QAbstractTableModel;

    void setLedger(const session::Ledger& ledger);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    session::Ledger m_ledger;
    int m_heads = 0;
};

} // namespace ecokv::ui
