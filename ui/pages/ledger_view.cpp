// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/ledger_view.h"

#include "ui/models/cache_length_model.h"
#include "ui/models/formatting.h"
#include "ui/pages/plot_panel.h"
#include "ui/pages/stat_tile.h"
#include "ui/plots/cache_length_plot.h"
#include "ui/plots/figure_builders.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QTabWidget>
#include <QTableView>
#include <QVBoxLayout>

namespace ecokv::ui {

LedgerView::LedgerView(QWidget* parent)
    : QWidget(parent), m_model(new LedgerModel(this)), m_table(makeTable()),
      m_lengths(new CacheLengthModel(this)), m_plot(new CacheLengthPlot), m_decoding(new QLabel),
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
    m_decoding->setWordWrap(true);
    m_decoding->setTextFormat(Qt::PlainText);
    m_decoding->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_decoding->setToolTip(tr("Mean over the heads, from the first to the last token of the "
                              "answer; each token is counted from its own step on."));
    setDecodingLine({});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(6);
    layout->addLayout(tiles);
    layout->addSpacing(4);
    layout->addWidget(m_decoding);
    layout->addWidget(makeViews(), 1);
}

QTabWidget* LedgerView::makeViews() {
    auto* table = makeTable();
    table->setModel(m_lengths);
    table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    table->setAccessibleName(tr("Tokens per KV head at every step of the answer"));
    auto* panel = new PlotPanel(m_plot, table);
    connect(panel, &PlotPanel::exportRequested, this, &LedgerView::exportRequested);
    m_plot->setEmptyText(tr("Nothing is known yet of the cache while it answers. Run a prompt, or "
                            "open a trace with an answer."));
    auto* views = new QTabWidget;
    views->setObjectName(QStringLiteral("ledgerViews"));
    views->setDocumentMode(true);
    views->addTab(m_table, tr("Tokens kept by each KV head"));
    views->addTab(panel, tr("While answering"));
    return views;
}

void LedgerView::setDecodingLine(const QString& line) {
    m_decoding->setText(line);
    m_decoding->setVisible(!line.isEmpty());
}

void LedgerView::showDecoding(const DocumentPtr& document, const analysis::PolicyView* policy) {
    const bool isKnown = document && policy != nullptr && hasCacheLengths(*document, policy->id);
    m_plot->setFigure(isKnown ? cacheLengthFigure(document, policy->id) : nullptr);
    if (isKnown) {
        m_lengths->setLengths(analysis::cacheLengths(*document, *policy),
                              policy->decode->tokenText);
    } else {
        m_lengths->setLengths({}, {});
    }
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
    setDecodingLine(summary.decoding);
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
    setDecodingLine({});
    showDecoding(nullptr, nullptr);
    for (StatTile* tile : {m_prompt, m_kept, m_protected, m_bytes, m_saved}) {
        tile->setValue(QStringLiteral("–"));
    }
}

} // namespace ecokv::ui
