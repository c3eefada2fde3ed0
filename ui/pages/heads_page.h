#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Which heads are redundant? A layer x KV head map of one metric, its summary, and all metrics as a
// table. A click selects the head everywhere.

#include "ui/models/app_state.h"
#include "ui/plots/figure_builders.h"

#include <QString>
#include <QWidget>

class QComboBox;
class QLabel;
class QSortFilterProxyModel;
class QStackedWidget;
class QTableView;

namespace ecokv::ui {

class HeadMapPlot;
class HeadTableModel;
class PlotPanel;
class StatTile;

class HeadsPage : public QWidget {
    Q_OBJECT

public:
    explicit HeadsPage(AppState* state, QWidget* parent = nullptr);

    QString metric() const;
    void setMetric(const QString& name);

Q_SIGNALS:
    void exportRequested(const ecokv::ui::FigurePtr& figure);
    void metricChanged(const QString& name);
    void startRequested();

private:
    QWidget* makeContent();
    QWidget* makeTiles();
    void connectSelection();
    void reload();
    void showMetric();
    void showSummary(const HeadMapFigure& figure);
    void showSelection();

    AppState* m_state;
    QStackedWidget* m_stack;
    QComboBox* m_metrics;
    QLabel* m_description;
    HeadMapPlot* m_map;
    HeadTableModel* m_model;
    QSortFilterProxyModel* m_sorted;
    QTableView* m_table;
    PlotPanel* m_panel;
    StatTile* m_lowest;
    StatTile* m_median;
    StatTile* m_mean;
    StatTile* m_highest;
    StatTile* m_selected;
    std::vector<HeadMetric> m_known;
    QString m_wanted = QStringLiteral("redundancy");
    bool m_syncing = false;
};

} // namespace ecokv::ui
