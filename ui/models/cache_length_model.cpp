// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/cache_length_model.h"

#include "ui/models/formatting.h"

namespace ecokv::ui {

void CacheLengthModel::setLengths(analysis::CacheLengths lengths, std::vector<std::string> texts) {
    beginResetModel();
    m_lengths = std::move(lengths);
    m_texts = std::move(texts);
    endResetModel();
}

int CacheLengthModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_lengths.mean.size());
}

int CacheLengthModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant CacheLengthModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        const auto side = index.column() == Text ? Qt::AlignLeft : Qt::AlignRight;
        return QVariant(side | Qt::AlignVCenter);
    }
    if (role != Qt::DisplayRole) {
        return {};
    }
    const auto step = static_cast<std::size_t>(index.row());
    switch (index.column()) {
    case Step:
        return index.row();
    case Text:
        return step < m_texts.size() ? formatToken(m_texts[step]) : QString();
    case Mean:
        return formatNumber(m_lengths.mean[step]);
    default:
        return QVariant::fromValue<qint64>(m_lengths.longest[step]);
    }
}

QVariant CacheLengthModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (role != Qt::DisplayRole || orientation == Qt::Vertical) {
        return {};
    }
    switch (section) {
    case Step:
        return tr("Step");
    case Text:
        return tr("Token");
    case Mean:
        return tr("Tokens per head, mean");
    default:
        return tr("Longest head, tokens");
    }
}

} // namespace ecokv::ui
