// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/plot_panel.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace ecokv::ui {

PlotPanel::PlotPanel(FigureWidget* plot, QTableView* table, QWidget* parent)
    : QWidget(parent), m_plot(plot), m_bar(new QHBoxLayout), m_stack(new QStackedWidget) {
    m_bar->setSpacing(6);
    m_bar->addStretch(1);
    m_stack->addWidget(plot);
    if (table != nullptr) {
        setUpSwitch(table);
    }
    QToolButton* copyButton = addButton(tr("Copy"), tr("Copy the picture or the table"));
    QToolButton* exportButton =
        addButton(tr("Export…"), tr("Save as PNG, SVG, PDF, or the data as CSV"));
    connect(copyButton, &QToolButton::clicked, this, &PlotPanel::copy);
    connect(exportButton, &QToolButton::clicked, this, &PlotPanel::requestExport);
    connect(plot, &FigureWidget::exportRequested, this, &PlotPanel::requestExport);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(6);
    layout->addLayout(m_bar);
    layout->addWidget(m_stack, 1);
}

void PlotPanel::addControl(QWidget* control) {
    m_bar->insertWidget(m_controls++, control);
}

QToolButton* PlotPanel::addButton(const QString& text, const QString& toolTip) {
    auto* button = new QToolButton;
    button->setText(text);
    button->setToolTip(toolTip);
    m_bar->addWidget(button);
    return button;
}

void PlotPanel::setUpSwitch(QTableView* table) {
    m_stack->addWidget(table);
    m_tableButton = addButton(tr("Table"), tr("Show the same numbers as a table"));
    m_tableButton->setCheckable(true);
    connect(m_tableButton, &QToolButton::toggled, m_stack, [this](bool on) {
        m_stack->setCurrentIndex(on ? 1 : 0);
        m_stack->currentWidget()->setFocus();
    });
}

void PlotPanel::showTable(bool on) {
    if (m_tableButton != nullptr) {
        m_tableButton->setChecked(on);
    }
}

bool PlotPanel::showsTable() const {
    return m_stack->currentIndex() == 1;
}

void PlotPanel::requestExport() {
    if (const FigurePtr figure = m_plot->figure()) {
        Q_EMIT exportRequested(figure);
    }
}

void PlotPanel::copy() {
    if (const auto* table = qobject_cast<QTableView*>(m_stack->currentWidget())) {
        QGuiApplication::clipboard()->setText(tableText(*table));
    } else if (m_plot->figure()) {
        m_plot->copyFigure();
    }
}

QTableView* makeTable(QWidget* parent) {
    auto* table = new QTableView(parent);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setAlternatingRowColors(true);
    table->setShowGrid(false);
    table->setWordWrap(false);
    table->setTabKeyNavigation(false);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(24);
    table->horizontalHeader()->setHighlightSections(false);
    table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    auto* copy = new QAction(QTableView::tr("Copy rows"), table);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    table->addAction(copy);
    table->setContextMenuPolicy(Qt::ActionsContextMenu);
    QObject::connect(copy, &QAction::triggered, table,
                     [table] { QGuiApplication::clipboard()->setText(tableText(*table)); });
    return table;
}

QString tableText(const QTableView& table) {
    const QAbstractItemModel* model = table.model();
    if (model == nullptr) {
        return {};
    }
    std::vector<int> rows;
    const QModelIndexList selected = table.selectionModel()->selectedRows();
    for (const QModelIndex& index : selected) {
        rows.push_back(index.row());
    }
    std::sort(rows.begin(), rows.end());
    for (int row = 0; selected.isEmpty() && row < model->rowCount(); ++row) {
        rows.push_back(row);
    }
    QStringList lines;
    QStringList cells;
    for (int column = 0; column < model->columnCount(); ++column) {
        cells << model->headerData(column, Qt::Horizontal).toString();
    }
    lines << cells.join(u'\t');
    for (const int row : rows) {
        cells.clear();
        for (int column = 0; column < model->columnCount(); ++column) {
            cells << model->index(row, column).data().toString();
        }
        lines << cells.join(u'\t');
    }
    return lines.join(u'\n') + u'\n';
}

} // namespace ecokv::ui
