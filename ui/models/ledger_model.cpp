// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/ledger_model.h"

#include "ui/models/run_summary.h"

#include <algorithm>
#include <numeric>

namespace ecokv::ui {

void LedgerModel::setLedger(const session::Ledger& ledger) {
    beginResetModel();
    m_ledger = ledger;
    m_heads = 0;
    for (const auto& layer : ledger.keptTokens) {
        m_heads = std::max(m_heads, static_cast<int>(layer.size()));
    }
    endResetModel();
}

int LedgerModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_ledger.keptTokens.size());
}

int LedgerModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() || m_heads == 0 ? 0 : m_heads + 1;
}

QVariant LedgerModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    }
    if (role != Qt::DisplayRole) {
        return {};
    }
    if (m_ledger.kinds().isLinear(index.row())) {
        return QStringLiteral("–"); // "0" would be a cache of which nothing was kept
    }
    const auto& layer = m_ledger.keptTokens[static_cast<std::size_t>(index.row())];
    if (index.column() == m_heads) {
        return QVariant::fromValue<qint64>(
            std::accumulate(layer.begin(), layer.end(), std::int64_t{0}));
    }
    const auto head = static_cast<std::size_t>(index.column());
    return head < layer.size() ? QVariant::fromValue<qint64>(layer[head]) : QVariant();
}

QVariant LedgerModel::headerData(int section, Qt::Orientation orientation, int role) const {
    const bool isLayer = orientation == Qt::Vertical;
    const bool slides = isLayer && m_ledger.kinds().isSliding(section);
    const bool isUncached = isLayer && m_ledger.kinds().isLinear(section);
    if (role == Qt::ToolTipRole && isUncached) {
        return tr(
            "This layer has linear attention: a state of fixed size and no KV cache, so there "
            "is nothing to evict. The figures above leave it out.");
    }
    if (role == Qt::ToolTipRole && slides) {
        return tr("This layer sees no further than its window of %1 tokens and is never evicted; "
                  "the figures above leave it out.")
            .arg(m_ledger.slidingWindows[static_cast<std::size_t>(section)]);
    }
    if (role != Qt::DisplayRole) {
        return {};
    }
    if (isUncached) {
        return tr("Layer %1 · no KV cache").arg(section);
    }
    if (isLayer) {
        return slides ? tr("Layer %1 · sliding, not evicted").arg(section)
                      : tr("Layer %1").arg(section);
    }
    return section == m_heads ? tr("Layer total") : tr("Head %1").arg(section);
}

} // namespace ecokv::ui
