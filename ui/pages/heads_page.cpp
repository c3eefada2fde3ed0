// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/heads_page.h"

#include "ui/models/formatting.h"
#include "ui/models/head_table_model.h"
#include "ui/models/metric_summary.h"
#include "ui/pages/empty_state.h"
#include "ui/pages/plot_panel.h"
#include "ui/pages/stat_tile.h"
#include "ui/plots/figure_builders.h"
#include "ui/plots/head_map_plot.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QScopedValueRollback>
#include <QSortFilterProxyModel>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

namespace ecokv::ui {

namespace {

/// Tells metrics of several policies apart; the plain name for all others.
QString metricKey(const HeadMetric& metric) {
    const QString name = QString::fromStdString(metric.name);
    return metric.policyId.empty() ? name : name + u'@' + QString::fromStdString(metric.policyId);
}

} // namespace

HeadsPage::HeadsPage(AppState* state, QWidget* parent)
    : QWidget(parent), m_state(state), m_stack(new QStackedWidget), m_metrics(new QComboBox),
      m_description(new QLabel), m_map(new HeadMapPlot), m_model(new HeadTableModel(this)),
      m_sorted(new QSortFilterProxyModel(this)), m_table(makeTable()),
      m_panel(new PlotPanel(m_map, m_table)) {
    auto* empty = new EmptyState(
        {tr("Which heads repeat themselves?"),
         tr("Run a prompt or open a trace: each layer and KV head becomes one coloured cell."),
         tr("Run")});
    connect(empty, &EmptyState::actionRequested, this, &HeadsPage::startRequested);
    m_stack->addWidget(empty);
    m_stack->addWidget(makeContent());
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->addWidget(m_stack);
    connectSelection();
    reload();
}

QWidget* HeadsPage::makeContent() {
    m_sorted->setSourceModel(m_model);
    m_sorted->setSortRole(Qt::UserRole);
    m_table->setModel(m_sorted);
    m_table->setSortingEnabled(true);
    m_table->sortByColumn(-1, Qt::AscendingOrder);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_table->setAccessibleName(tr("All metrics of all heads"));
    m_metrics->setToolTip(tr("What the colour of a head means"));
    m_metrics->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_map->setAccessibleName(tr("Map of layers and KV heads"));
    auto* label = new QLabel(tr("&Metric"));
    label->setBuddy(m_metrics);
    m_panel->addControl(label);
    m_panel->addControl(m_metrics);
    m_description->setWordWrap(true);
    m_description->setProperty("role", QStringLiteral("muted"));
    auto* content = new QWidget;
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_panel, 1);
    layout->addWidget(m_description);
    layout->addWidget(makeTiles());
    return content;
}

QWidget* HeadsPage::makeTiles() {
    m_selected = new StatTile(tr("selected head"));
    m_lowest = new StatTile(tr("lowest"));
    m_median = new StatTile(tr("median"));
    m_mean = new StatTile(tr("mean"));
    m_highest = new StatTile(tr("highest"));
    auto* tiles = new QWidget;
    auto* layout = new QHBoxLayout(tiles);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    for (StatTile* tile : {m_selected, m_lowest, m_median, m_mean, m_highest}) {
        layout->addWidget(tile, 1);
    }
    return tiles;
}

void HeadsPage::connectSelection() {
    connect(m_state, &AppState::documentChanged, this, &HeadsPage::reload);
    connect(m_state, &AppState::headChanged, this, &HeadsPage::showSelection);
    connect(m_map, &HeadMapPlot::cellSelected, m_state, &AppState::selectHead);
    connect(m_panel, &PlotPanel::exportRequested, this, &HeadsPage::exportRequested);
    connect(m_metrics, &QComboBox::currentIndexChanged, this, [this] {
        if (!m_syncing) {
            m_wanted = m_metrics->currentData().toString();
            showMetric();
            Q_EMIT metricChanged(m_wanted);
        }
    });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& current) {
                if (!m_syncing && current.isValid()) {
                    const int row = m_sorted->mapToSource(current).row();
                    m_state->selectHead(m_model->layerOf(row), m_model->kvHeadOf(row));
                }
            });
}

QString HeadsPage::metric() const {
    return m_wanted;
}

void HeadsPage::setMetric(const QString& name) {
    m_wanted = name;
    const int index = m_metrics->findData(name);
    if (index >= 0) {
        m_metrics->setCurrentIndex(index);
    }
}

void HeadsPage::reload() {
    const QScopedValueRollback guard(m_syncing, true);
    const DocumentPtr& document = m_state->document();
    m_known = document ? headMetrics(*document) : std::vector<HeadMetric>{};
    m_metrics->clear();
    std::vector<HeadColumn> columns;
    for (const HeadMetric& metric : m_known) {
        m_metrics->addItem(metric.label, metricKey(metric));
        m_metrics->setItemData(m_metrics->count() - 1, metric.description, Qt::ToolTipRole);
        columns.push_back(
            {metric.label, metric.description, headMapFigure(document, metric)->data().values});
    }
    m_model->setColumns(document ? static_cast<int>(document->dimensions.layers) : 0,
                        document ? static_cast<int>(document->dimensions.kvHeads) : 0,
                        std::move(columns));
    m_table->resizeColumnsToContents();
    m_metrics->setCurrentIndex(std::max(0, m_metrics->findData(m_wanted)));
    m_stack->setCurrentIndex(m_known.empty() ? 0 : 1);
    showMetric();
}

void HeadsPage::showMetric() {
    const int index = m_metrics->currentIndex();
    if (index < 0 || index >= static_cast<int>(m_known.size())) {
        m_map->setFigure(nullptr);
        return;
    }
    const HeadMetric& metric = m_known[static_cast<std::size_t>(index)];
    const auto figure = headMapFigure(m_state->document(), metric);
    m_map->setFigure(figure);
    m_description->setText(metric.description);
    showSummary(*figure);
    showSelection();
}

void HeadsPage::showSummary(const HeadMapFigure& figure) {
    const MetricSummary summary = summarise(figure.countedValues());
    const auto place = [&](int cell, const QString& word) {
        const int kvHeads = figure.data().kvHeads;
        return cell < 0 ? word
                        : tr("%1 (L%2 H%3)").arg(word).arg(cell / kvHeads).arg(cell % kvHeads);
    };
    m_lowest->setValue(formatNumber(summary.minimum), place(summary.minimumIndex, tr("lowest")));
    m_highest->setValue(formatNumber(summary.maximum), place(summary.maximumIndex, tr("highest")));
    m_median->setValue(formatNumber(summary.median), tr("median of %1").arg(summary.finite));
    m_mean->setValue(formatNumber(summary.mean),
                     summary.missing > 0 ? tr("mean of %1").arg(summary.finite) : QString());
}

void HeadsPage::showSelection() {
    const QScopedValueRollback guard(m_syncing, true);
    const HeadSelection& selection = m_state->selection();
    m_map->setSelectedCell(selection.layer, selection.kvHead);
    const auto figure = std::dynamic_pointer_cast<const HeadMapFigure>(m_map->figure());
    if (!figure) {
        return;
    }
    const float value = figure->value({selection.layer, selection.kvHead});
    m_selected->setValue(formatNumber(static_cast<double>(value)),
                         tr("selected (L%1 H%2)").arg(selection.layer).arg(selection.kvHead));
    const QModelIndex row = m_sorted->mapFromSource(
        m_model->index(m_model->rowOf(selection.layer, selection.kvHead), 0));
    m_table->setCurrentIndex(row);
}

} // namespace ecokv::ui
