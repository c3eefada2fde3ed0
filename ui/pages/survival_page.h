#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Which patches and words survive? The pictures with their surviving patches, the prompt's text
// with its tokens, for one head or over many; the counts; the tokens as a table.

#include "ui/plots/figure.h"
#include "ui/workers/survival_loader.h"

#include <QWidget>

class QCheckBox;
class QComboBox;
class QLabel;
class QStackedWidget;
class QTableView;

namespace ecokv::ui {

class EmptyState;
class HeadSelector;
class PlotPanel;
class StatTile;
class SurvivalImage;
class TokenTableModel;
class TokenText;

class SurvivalPage : public QWidget {
    Q_OBJECT

public:
    SurvivalPage(AppState* state, SurvivalLoader* loader, QWidget* parent = nullptr);

Q_SIGNALS:
    void exportRequested(const ecokv::ui::FigurePtr& figure);
    void startRequested();

private:
    QWidget* makeContent();
    QWidget* makeTiles();
    void setUpControls();
    void connectTokens();
    void applyScope();
    void showDocument();
    void showSurvival();
    void showPicture();
    void showCounts();

    AppState* m_state;
    SurvivalLoader* m_loader;
    QStackedWidget* m_stack;
    EmptyState* m_empty;
    HeadSelector* m_selector;
    QComboBox* m_mode;
    QCheckBox* m_allLayers;
    QLabel* m_pictureLabel;
    QComboBox* m_picture;
    QLabel* m_patchesLabel;
    QComboBox* m_patches;
    SurvivalImage* m_image;
    TokenText* m_text;
    TokenTableModel* m_model;
    QTableView* m_table;
    PlotPanel* m_imagePanel;
    PlotPanel* m_textPanel;
    StatTile* m_kept;
    StatTile* m_keptImage;
    StatTile* m_keptText;
    StatTile* m_scope;
};

} // namespace ecokv::ui
