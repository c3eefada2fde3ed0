// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/head_page.h"

#include "ui/models/formatting.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/empty_state.h"
#include "ui/pages/head_selector.h"
#include "ui/pages/plot_panel.h"
#include "ui/pages/stat_tile.h"
#include "ui/pages/token_table.h"
#include "ui/plots/figure_builders.h"
#include "ui/plots/scatter_plot.h"
#include "ui/plots/score_strip_plot.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

namespace ecokv::ui {

HeadPage::HeadPage(AppState* state, HeadLoader* loader, QWidget* parent)
    : QWidget(parent), m_state(state), m_loader(loader), m_stack(new QStackedWidget),
      m_diversity(new QComboBox), m_logarithmic(new QCheckBox(tr("Lo&g importance"))),
      m_plot(new ScatterPlot), m_model(new TokenTableModel(this)),
      m_table(makeTokenTable(m_model, state)), m_panel(new PlotPanel(m_plot, m_table)),
      m_strip(new ScoreStripPlot),
      m_stripPanel(new PlotPanel(m_strip, makeTokenTable(m_model, state))), m_view(new QComboBox) {
    auto* empty = new EmptyState(
        {tr("What does one head keep, and why?"),
         tr("Run a prompt or open a trace: every token becomes a point, right if the question "
            "attends to it, high if it is unlike the others."),
         tr("Run")});
    connect(empty, &EmptyState::actionRequested, this, &HeadPage::startRequested);
    m_stack->addWidget(empty);
    m_stack->addWidget(makeContent());
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->addWidget(m_stack);
    connectTokens();
    showDocument();
    showHead();
}

QWidget* HeadPage::makeContent() {
    setUpControls();
    m_plot->setAccessibleName(tr("Importance against diversity"));
    m_plot->setEmptyText(tr("This trace holds no policy, so no scores to draw."));
    m_strip->setAccessibleName(tr("Scores along the prompt"));
    auto* views = new QStackedWidget;
    views->addWidget(m_panel);
    views->addWidget(m_stripPanel);
    auto* content = new QWidget;
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(makeTopRow(views));
    layout->addWidget(views, 1);
    layout->addWidget(makeTiles());
    return content;
}

QWidget* HeadPage::makeTopRow(QStackedWidget* views) {
    m_view->addItem(tr("Scatter"));
    m_view->addItem(tr("Along prompt"));
    m_view->setAccessibleName(tr("View of the head"));
    m_view->setObjectName(QStringLiteral("headView"));
    m_view->setToolTip(tr("The same scores as a scatter, or token by token along the prompt"));
    connect(m_view, &QComboBox::currentIndexChanged, views, &QStackedWidget::setCurrentIndex);
    auto* row = new QWidget;
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(new HeadSelector(m_state), 1);
    layout->addWidget(m_view);
    return row;
}

void HeadPage::setUpControls() {
    m_diversity->addItem(tr("Composite"), int(analysis::DiversityKind::Composite));
    m_diversity->addItem(tr("Cosine"), int(analysis::DiversityKind::Cosine));
    m_diversity->addItem(tr("Euclid"), int(analysis::DiversityKind::Euclid));
    m_diversity->setToolTip(tr("Which diversity the vertical axis shows, 0 to 1"));
    m_logarithmic->setToolTip(tr("Logarithmic importance axis; zeros get a lane of their own"));
    auto* label = new QLabel(tr("&Diversity"));
    label->setBuddy(m_diversity);
    m_panel->addControl(label);
    m_panel->addControl(m_diversity);
    m_panel->addControl(m_logarithmic);
    connect(m_diversity, &QComboBox::currentIndexChanged, this, [this] {
        m_loader->setDiversity(
            static_cast<analysis::DiversityKind>(m_diversity->currentData().toInt()));
    });
    connect(m_logarithmic, &QCheckBox::toggled, m_loader, &HeadLoader::setLogImportance);
}

QWidget* HeadPage::makeTiles() {
    m_redundancy = new StatTile(tr("redundancy"));
    m_cosine = new StatTile(tr("… by cosine"));
    m_euclid = new StatTile(tr("… by Euclid"));
    m_anisotropy = new StatTile(tr("anisotropy"));
    m_correlation = new StatTile(tr("rank correlation"));
    m_correlation->setToolTip(
        tr("Spearman correlation of importance and diversity over the candidates, -1 to 1"));
    auto* tiles = new QWidget;
    auto* layout = new QHBoxLayout(tiles);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    for (StatTile* tile : {m_redundancy, m_cosine, m_euclid, m_anisotropy, m_correlation}) {
        layout->addWidget(tile, 1);
    }
    return tiles;
}

void HeadPage::connectTokens() {
    connect(m_state, &AppState::documentChanged, this, &HeadPage::showDocument);
    connect(m_loader, &HeadLoader::loaded, this, &HeadPage::showHead);
    connect(m_plot, &ScatterPlot::tokenHovered, m_state, &AppState::hoverToken);
    connect(m_plot, &ScatterPlot::tokenSelected, m_state, &AppState::selectToken);
    connect(m_state, &AppState::tokenHovered, m_plot, &ScatterPlot::setHoveredToken);
    connect(m_state, &AppState::tokenSelected, m_plot, &ScatterPlot::setSelectedToken);
    connect(m_strip, &ScoreStripPlot::tokenHovered, m_state, &AppState::hoverToken);
    connect(m_strip, &ScoreStripPlot::tokenSelected, m_state, &AppState::selectToken);
    connect(m_state, &AppState::tokenHovered, m_strip, &ScoreStripPlot::setHoveredToken);
    connect(m_state, &AppState::tokenSelected, m_strip, &ScoreStripPlot::setSelectedToken);
    connect(m_panel, &PlotPanel::exportRequested, this, &HeadPage::exportRequested);
    connect(m_stripPanel, &PlotPanel::exportRequested, this, &HeadPage::exportRequested);
}

void HeadPage::showDocument() {
    m_model->setDocument(m_state->document());
    sizeTokenColumns(m_table);
    m_stack->setCurrentIndex(m_state->document() ? 1 : 0);
}

void HeadPage::showHead() {
    const HeadView& view = m_loader->view();
    m_plot->setFigure(view.figure);
    m_plot->setSelectedToken(m_state->selectedToken());
    const bool cached = !view.strip || !view.strip->document->isLinear(view.selection.layer);
    m_strip->setEmptyText(cached ? tr("This trace holds no policy, so no scores to draw.")
                                 : uncachedSentence(view.selection.layer));
    m_strip->setData(cached ? view.strip : nullptr);
    m_strip->setSelectedToken(m_state->selectedToken());
    m_model->setScatter(view.scatter);
    if (!view.scatter) {
        for (StatTile* tile : {m_redundancy, m_cosine, m_euclid, m_anisotropy, m_correlation}) {
            tile->setValue(QStringLiteral("–"));
        }
        return;
    }
    m_redundancy->setValue(formatNumber(view.scatter->redundancy));
    m_cosine->setValue(formatNumber(view.scatter->redundancyCosine));
    m_euclid->setValue(formatNumber(view.scatter->redundancyEuclid));
    m_anisotropy->setValue(formatNumber(view.scatter->anisotropy));
    m_correlation->setValue(formatNumber(view.scatter->spearman));
}

} // namespace ecokv::ui
