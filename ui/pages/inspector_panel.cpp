// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/inspector_panel.h"

#include "ui/models/inspector_rows.h"
#include "ui/pages/plot_panel.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

namespace ecokv::ui {

InspectorPanel::InspectorPanel(const Sources& sources, QWidget* parent)
    : QWidget(parent), m_sources(sources), m_model(new InspectorModel(this)),
      m_table(new QTableView) {
    setUpTable();
    auto* copyButton = new QPushButton(tr("Copy numbers"));
    copyButton->setToolTip(tr("Copy the selected rows, or all, as text"));
    connect(copyButton, &QPushButton::clicked, this, &InspectorPanel::copy);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 8, 8, 8);
    layout->setSpacing(6);
    layout->addWidget(m_table, 1);
    layout->addWidget(copyButton);
    follow();
    refresh();
}

void InspectorPanel::setUpTable() {
    m_table->setModel(m_model);
    m_table->setObjectName(QStringLiteral("inspectorTable"));
    m_table->setAccessibleName(tr("Inspector"));
    m_table->setShowGrid(false);
    m_table->setWordWrap(false);
    m_table->setTabKeyNavigation(false);
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->horizontalHeader()->hide();
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(22);
    m_table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
    m_table->horizontalHeader()->setSectionResizeMode(1, QHeaderView::Stretch);
    auto* action = new QAction(tr("Copy"), m_table);
    action->setShortcut(QKeySequence::Copy);
    action->setShortcutContext(Qt::WidgetShortcut);
    connect(action, &QAction::triggered, this, &InspectorPanel::copy);
    m_table->addAction(action);
    m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
}

void InspectorPanel::follow() {
    const auto refreshAll = [this] { refresh(); };
    connect(m_sources.state, &AppState::documentChanged, this, refreshAll);
    connect(m_sources.state, &AppState::policyChanged, this, refreshAll);
    connect(m_sources.state, &AppState::headChanged, this, refreshAll);
    connect(m_sources.state, &AppState::tokenHovered, this, refreshAll);
    connect(m_sources.state, &AppState::tokenSelected, this, refreshAll);
    connect(m_sources.head, &HeadLoader::loaded, this, refreshAll);
    connect(m_sources.survival, &SurvivalLoader::loaded, this, refreshAll);
}

void InspectorPanel::refresh() {
    InspectorInput input;
    input.document = m_sources.state->document();
    input.policy = m_sources.state->policy();
    input.selection = m_sources.state->selection();
    input.token = m_sources.state->currentToken();
    if (m_sources.head->view().selection == input.selection) {
        input.scatter = m_sources.head->view().scatter;
    }
    input.survival = m_sources.survival->view().result;
    m_model->setRows(inspectorRows(input));
}

void InspectorPanel::copy() {
    std::vector<int> rows;
    const QModelIndexList selected = m_table->selectionModel()->selectedRows();
    for (const QModelIndex& index : selected) {
        rows.push_back(index.row());
    }
    std::sort(rows.begin(), rows.end());
    for (int row = 0; selected.isEmpty() && row < m_model->rowCount(); ++row) {
        rows.push_back(row);
    }
    QGuiApplication::clipboard()->setText(m_model->asText(rows));
}

} // namespace ecokv::ui
