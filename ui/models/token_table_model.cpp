// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/token_table_model.h"

#include "ui/models/formatting.h"

#include <limits>

namespace ecokv::ui {

void TokenTableModel::setDocument(const DocumentPtr& document) {
    beginResetModel();
    m_document = document;
    m_scatter.reset();
    m_survival.reset();
    m_pointOfToken.clear();
    endResetModel();
}

void TokenTableModel::setScatter(const ScatterPtr& scatter) {
    m_scatter = scatter;
    m_pointOfToken.clear();
    if (m_scatter) {
        for (std::size_t i = 0; i < m_scatter->points.size(); ++i) {
            m_pointOfToken.emplace(m_scatter->points[i].token, i);
        }
    }
    columnsChanged(Importance, Survives);
}

void TokenTableModel::setSurvival(const SurvivalPtr& survival) {
    m_survival = survival;
    columnsChanged(Survives, Survives);
}

void TokenTableModel::columnsChanged(int first, int last) {
    if (rowCount() > 0) {
        Q_EMIT dataChanged(index(0, first), index(rowCount() - 1, last));
    }
}

int TokenTableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !m_document ? 0 : static_cast<int>(m_document->dimensions.tokens);
}

int TokenTableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(ColumnCount);
}

const analysis::ScatterPoint* TokenTableModel::point(int row) const {
    const auto found = m_pointOfToken.find(row);
    return found == m_pointOfToken.end() ? nullptr : &m_scatter->points[found->second];
}

QVariant TokenTableModel::number(int row, int column) const {
    const auto token = static_cast<std::size_t>(row);
    if (column == Token) {
        return row;
    }
    if (column == Survives && isUncached()) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    if (column == Survives && m_survival && token < m_survival->share.size()) {
        return static_cast<double>(m_survival->share[token]);
    }
    const analysis::ScatterPoint* scores = point(row);
    if (scores == nullptr) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    switch (column) {
    case Importance:
        return static_cast<double>(scores->importance);
    case Diversity:
        return static_cast<double>(scores->diversity);
    case Score:
        return static_cast<double>(scores->score);
    case Survives:
        return scores->kept ? 1.0 : 0.0;
    default:
        return {};
    }
}

bool TokenTableModel::isUncached() const {
    return (m_survival && m_survival->heads == 0) ||
           (m_scatter && m_document && m_document->isLinear(m_scatter->layer));
}

QString TokenTableModel::survivalText(int row) const {
    const auto token = static_cast<std::size_t>(row);
    if (isUncached()) {
        return tr("no KV cache");
    }
    if (m_survival && token < m_survival->share.size()) {
        const float share = m_survival->share[token];
        if (m_survival->heads > 1 && share > 0.0F && share < 1.0F) {
            return tr("in %1 of heads").arg(formatShare(static_cast<double>(share)));
        }
        return share > 0.0F ? tr("kept") : tr("evicted");
    }
    if (const analysis::ScatterPoint* scores = point(row)) {
        return scores->kept ? tr("kept") : tr("evicted");
    }
    return m_scatter ? tr("protected") : formatNumber(std::numeric_limits<double>::quiet_NaN());
}

QVariant TokenTableModel::text(int row, int column) const {
    const auto token = static_cast<std::size_t>(row);
    const auto& prompt = m_document->prompt;
    switch (column) {
    case Token:
        return row;
    case Text:
        if (prompt && token < prompt->tokenText.size()) {
            return formatToken(prompt->tokenText[token]);
        }
        return {};
    case Kind:
        if (prompt && token < prompt->tokenKind.size()) {
            return tokenKindName(prompt->tokenKind[token], token < prompt->patchRole.size()
                                                               ? prompt->patchRole[token]
                                                               : std::uint8_t{0});
        }
        return {};
    case Survives:
        return survivalText(row);
    default:
        return formatNumber(number(row, column).toDouble());
    }
}

QVariant TokenTableModel::data(const QModelIndex& index, int role) const {
    if (!m_document || !checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    switch (role) {
    case Qt::DisplayRole:
        return text(index.row(), index.column());
    case Qt::UserRole: // sorts by number where there is one
        return index.column() == Text || index.column() == Kind
                   ? text(index.row(), index.column())
                   : number(index.row(), index.column());
    case Qt::TextAlignmentRole: {
        const bool words =
            index.column() == Text || index.column() == Kind || index.column() == Survives;
        return QVariant((words ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    }
    default:
        return {};
    }
}

QVariant TokenTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) {
        return {};
    }
    struct Heading {
        QString title, toolTip;
    };
    const Heading headings[ColumnCount] = {
        {tr("Token"), tr("Position in the prompt, from 0.")},
        {tr("Text"), tr("The token decoded alone; image tokens have none.")},
        {tr("Kind"), tr("Text, special or image; of an image also the ends of rows, separators "
                        "of tiles and the patches of a thumbnail.")},
        {tr("Importance"), tr("Attention from the observation window, 0 to 1.")},
        {tr("Diversity"), tr("How unlike the head's other keys it is, 0 to 1.")},
        {tr("Score"), tr("What the policy ranks by; no number for protected tokens.")},
        {tr("Survives"), tr("Whether the policy keeps the token.")},
    };
    if (section < 0 || section >= ColumnCount) {
        return {};
    }
    return role == Qt::DisplayRole   ? QVariant(headings[section].title)
           : role == Qt::ToolTipRole ? QVariant(headings[section].toolTip)
                                     : QVariant();
}

} // namespace ecokv::ui
