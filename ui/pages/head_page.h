#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What do this head's keys look like? Importance against diversity of its tokens with the survivors
// marked, or the same scores along the prompt; the head's numbers, and its tokens as a table.

#include "ui/plots/figure.h"
#include "ui/workers/head_loader.h"

#include <QWidget>

class QCheckBox;
class QComboBox;
class QStackedWidget;
class QTableView;

namespace ecokv::ui {

class PlotPanel;
class ScatterPlot;
class ScoreStripPlot;
class StatTile;
class TokenTableModel;

class HeadPage : public QWidget {
    Q_OBJECT

public:
    HeadPage(AppState* state, HeadLoader* loader, QWidget* parent = nullptr);

Q_SIGNALS:
    void exportRequested(const ecokv::ui::FigurePtr& figure);
    void startRequested();

private:
    QWidget* makeContent();
    QWidget* makeTiles();
    QWidget* makeTopRow(QStackedWidget* views);
    void setUpControls();
    void connectTokens();
    void showDocument();
    void showHead();

    AppState* m_state;
    HeadLoader* m_loader;
    QStackedWidget* m_stack;
    QComboBox* m_diversity;
    QCheckBox* m_logarithmic;
    ScatterPlot* m_plot;
    TokenTableModel* m_model;
    QTableView* m_table;
    PlotPanel* m_panel;
    ScoreStripPlot* m_strip;
    PlotPanel* m_stripPanel;
    QComboBox* m_view;
    StatTile* m_redundancy;
    StatTile* m_cosine;
    StatTile* m_euclid;
    StatTile* m_anisotropy;
    StatTile* m_correlation;
};

} // namespace ecokv::ui
