#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The table twin of the scatter and of the survival picture: one row per prompt token, its numbers
// in the selected head, and whether it survives. Cells are made when asked for (field case F153).
// GUI thread.

#include "analysis/head_scatter.h"
#include "analysis/survival.h"
#include "ui/models/app_state.h"

#include <QAbstractTableModel>

#include <unordered_map>

namespace ecokv::ui {

using ScatterPtr = std::shared_ptr<const analysis::HeadScatter>;
using SurvivalPtr = std::shared_ptr<const analysis::SurvivalResult>;

class TokenTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { Token, Text, Kind, Importance, Diversity, Score, Survives, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    void setDocument(const DocumentPtr& document); ///< clears scatter and survival
    void setScatter(const ScatterPtr& scatter);
    void setSurvival(const SurvivalPtr& survival);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    const analysis::ScatterPoint* point(int row) const;
    QVariant number(int row, int column) const;
    QVariant text(int row, int column) const;
    bool isUncached() const; ///< what is shown is a layer without a KV cache
    QString survivalText(int row) const;
    void columnsChanged(int first, int last);

    DocumentPtr m_document;
    ScatterPtr m_scatter;
    SurvivalPtr m_survival;
    std::unordered_map<std::int64_t, std::size_t> m_pointOfToken;
};

} // namespace ecokv::ui
