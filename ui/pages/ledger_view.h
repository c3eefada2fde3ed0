#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The honest ledger: tokens and bytes kept, protected and saved, as tiles and as a table per layer
// and KV head.

#include "ui/models/ledger_model.h"
#include "ui/models/run_summary.h"

#include <QWidget>

class QTableView;

namespace ecokv::ui {

class StatTile;

class LedgerView : public QWidget {
    Q_OBJECT

public:
    explicit LedgerView(QWidget* parent = nullptr);

    void showSummary(const RunSummary& summary);
    void showLedger(const session::Ledger& ledger, std::int64_t imageTokens);
    void clear();

private:
    void setUpTable();

    LedgerModel* m_model;
    QTableView* m_table;
    StatTile* m_prompt;
    StatTile* m_kept;
    StatTile* m_protected;
    StatTile* m_bytes;
    StatTile* m_saved;
};

} // namespace ecokv::ui
