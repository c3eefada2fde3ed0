#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The honest ledger: tokens and bytes kept, protected and saved, as tiles and as a table per layer
// and KV head, and how the cache grew while it answered.

#include "ui/models/app_state.h"
#include "ui/models/ledger_model.h"
#include "ui/models/run_summary.h"
#include "ui/plots/figure.h"

#include <QWidget>

class QLabel;
class QTabWidget;
class QTableView;

namespace ecokv::ui {

class CacheLengthModel;
class CacheLengthPlot;
class StatTile;

class LedgerView : public QWidget {
    Q_OBJECT

public:
    explicit LedgerView(QWidget* parent = nullptr);

    void showSummary(const RunSummary& summary);
    void showLedger(const session::Ledger& ledger, std::int64_t imageTokens);
    /// How the cache grew while the policy answered; an empty figure where nothing was recorded.
    void showDecoding(const DocumentPtr& document, const analysis::PolicyView* policy);
    void clear();

Q_SIGNALS:
    void exportRequested(const ecokv::ui::FigurePtr& figure);

private:
    void setUpTable();
    void setDecodingLine(const QString& line);
    QTabWidget* makeViews();

    LedgerModel* m_model;
    QTableView* m_table;
    CacheLengthModel* m_lengths;
    CacheLengthPlot* m_plot;
    QLabel* m_decoding;
    StatTile* m_prompt;
    StatTile* m_kept;
    StatTile* m_protected;
    StatTile* m_bytes;
    StatTile* m_saved;
};

} // namespace ecokv::ui
