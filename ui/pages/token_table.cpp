// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/token_table.h"

#include "ui/pages/plot_panel.h"

#include <QHeaderView>
#include <QSortFilterProxyModel>
#include <QTableView>

namespace ecokv::ui {

namespace {

constexpr int kSampledRows = 50;

} // namespace

QTableView* makeTokenTable(TokenTableModel* model, AppState* state) {
    QTableView* table = makeTable();
    auto* sorted = new QSortFilterProxyModel(table);
    sorted->setSortRole(Qt::UserRole);
    sorted->setSourceModel(model);
    table->setModel(sorted);
    table->setSortingEnabled(true);
    table->sortByColumn(-1, Qt::AscendingOrder);
    table->setAccessibleName(QTableView::tr("Tokens"));
    table->horizontalHeader()->setResizeContentsPrecision(kSampledRows);
    QObject::connect(table->selectionModel(), &QItemSelectionModel::currentRowChanged, state,
                     [sorted, state](const QModelIndex& current) {
                         if (current.isValid()) {
                             state->selectToken(sorted->mapToSource(current).row());
                         }
                     });
    QObject::connect(state, &AppState::tokenSelected, table, [=](qint64 token) {
        const QModelIndex source = model->index(static_cast<int>(token), 0);
        if (token >= 0 && sorted->mapToSource(table->currentIndex()).row() != source.row()) {
            table->setCurrentIndex(sorted->mapFromSource(source));
        }
    });
    return table;
}

void sizeTokenColumns(QTableView* table) {
    table->resizeColumnsToContents();
}

} // namespace ecokv::ui
