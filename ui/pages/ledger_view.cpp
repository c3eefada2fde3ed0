// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/ledger_view.h"

#include "ui/models/formatting.h"
#include "ui/pages/plot_panel.h"
#include "ui/pages/stat_tile.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>

namespace ecokv::ui {

LedgerView::LedgerView(QWidget* parent)
    : QWidget(parent), m_model(new LedgerModel(this)), m_table(makeTable()),
      m_prompt(new StatTile(tr("prompt tokens"))), m_kept(new StatTile(tr("kept per head"))),
      m_protected(new StatTile(tr("protected"))), m_bytes(new StatTile(tr("cache bytes"))),
      m_saved(new StatTile(tr("cache saved"))) {
    m_protected->setToolTip(tr("Sinks at the start and recent tokens at the end, always kept."));
    m_bytes->setToolTip(tr("Bytes of keys and values that are really stored after the prefill."));
    auto* tiles = new QHBoxLayout;
    tiles->setSpacing(8);
    for (StatTile* tile : {m_prompt, m_kept, m_protected, m_bytes, m_saved}) {
        tiles->addWidget(tile, 1);
    }
    setUpTable();
    auto* caption = new QLabel(tr("Tokens kept by each KV head"));
    caption->setProperty("role", QStringLiteral("muted"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(6);
    layout->addLayout(tiles);
    layout->addSpacing(4);
    layout->addWidget(caption);
    layout->addWidget(m_table, 1);
}

void LedgerView::setUpTable() {
    m_table->setModel(m_model);
    m_table->verticalHeader()->show();
    m_table->setCornerButtonEnabled(false);
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_table->setAccessibleName(tr("Tokens kept by each KV head"));
}

void LedgerView::showSummary(const RunSummary& summary) {
    showLedger(summary.ledger, summary.imageTokens);
    m_prompt->setValue(QString::number(summary.promptTokens),
                       summary.imageTokens > 0 ? tr("tokens, %1 image").arg(summary.imageTokens)
                                               : QString());
}

void LedgerView::showLedger(const session::Ledger& ledger, std::int64_t imageTokens) {
    m_model->setLedger(ledger);
    const LedgerFigures figures = ledgerFigures(ledger);
    m_prompt->setValue(QString::number(ledger.promptTokens),
                       imageTokens > 0 ? tr("tokens, %1 image").arg(imageTokens) : QString());
    const bool uneven = figures.fewest != figures.most;
    m_kept->setValue(uneven ? tr("%1 to %2").arg(figures.fewest).arg(figures.most)
                            : formatNumber(figures.meanKept),
                     tr("per head (%1)").arg(formatShare(figures.keptShare)));
    m_protected->setValue(QString::number(ledger.protectedTokens));
    m_bytes->setValue(ledger.keptBytes > 0 ? formatBytes(ledger.keptBytes) : QStringLiteral("–"),
                      ledger.fullBytes > 0 ? tr("of %1 full").arg(formatBytes(ledger.fullBytes))
                                           : QString());
    m_saved->setValue(formatShare(figures.savedShare));
}

void LedgerView::clear() {
    m_model->setLedger({});
    for (StatTile* tile : {m_prompt, m_kept, m_protected, m_bytes, m_saved}) {
        tile->setValue(QStringLiteral("–"));
    }
}

} // namespace ecokv::ui
