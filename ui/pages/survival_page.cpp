// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/survival_page.h"

#include "ui/models/formatting.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/empty_state.h"
#include "ui/pages/head_selector.h"
#include "ui/pages/plot_panel.h"
#include "ui/pages/stat_tile.h"
#include "ui/pages/token_table.h"
#include "ui/plots/figure_builders.h"
#include "ui/plots/survival_image.h"
#include "ui/plots/token_text.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include <limits>

namespace ecokv::ui {

namespace {

EmptyText noTraceText() {
    return {SurvivalPage::tr("Which patches and words survive?"),
            SurvivalPage::tr("Run a prompt or open a trace: what a head forgets is dimmed and "
                             "hatched in the picture and in the text."),
            SurvivalPage::tr("Run")};
}

/// Why there are no survivors to show: the file's own problems come before any guess.
EmptyText noPolicyText(const analysis::TraceDocument& document) {
    if (!document.problems.empty()) {
        return {SurvivalPage::tr("No policy of this trace can be read"),
                QString::fromStdString(document.problems.front()), SurvivalPage::tr("Run")};
    }
    return {SurvivalPage::tr("This trace holds no policy"),
            SurvivalPage::tr("It was recorded without eviction, so every token survives. Run its "
                             "prompt again with a budget."),
            SurvivalPage::tr("Run")};
}

double ratio(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole)
                     : std::numeric_limits<double>::quiet_NaN();
}

} // namespace

SurvivalPage::SurvivalPage(AppState* state, SurvivalLoader* loader, QWidget* parent)
    : QWidget(parent), m_state(state), m_loader(loader), m_stack(new QStackedWidget),
      m_empty(new EmptyState(noTraceText())), m_selector(new HeadSelector(state)),
      m_mode(new QComboBox), m_allLayers(new QCheckBox(tr("&All layers"))),
      m_pictureLabel(new QLabel(tr("&Picture"))), m_picture(new QComboBox),
      m_patchesLabel(new QLabel(tr("Pat&ches"))), m_patches(new QComboBox),
      m_image(new SurvivalImage), m_text(new TokenText), m_model(new TokenTableModel(this)),
      m_table(makeTokenTable(m_model, state)), m_imagePanel(new PlotPanel(m_image, nullptr)),
      m_textPanel(new PlotPanel(m_text, m_table)) {
    connect(m_empty, &EmptyState::actionRequested, this, &SurvivalPage::startRequested);
    m_stack->addWidget(m_empty);
    m_stack->addWidget(makeContent());
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->addWidget(m_stack);
    connectTokens();
    showDocument();
    showSurvival();
}

QWidget* SurvivalPage::makeContent() {
    setUpControls();
    m_image->setAccessibleName(tr("Picture with surviving patches"));
    m_image->setEmptyText(tr("This prompt has no picture."));
    m_text->setAccessibleName(tr("Text with surviving tokens"));
    m_text->setEmptyText(tr("This trace holds no prompt text."));
    auto* split = new QSplitter(Qt::Horizontal);
    split->setChildrenCollapsible(false);
    split->addWidget(m_imagePanel);
    split->addWidget(m_textPanel);
    split->setStretchFactor(0, 3);
    split->setStretchFactor(1, 2);
    // Not beside the picture's other controls: their width would take the docks theirs.
    auto* selection = new QHBoxLayout;
    selection->addWidget(m_selector, 1);
    selection->addWidget(m_patchesLabel);
    selection->addWidget(m_patches);
    auto* content = new QWidget;
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(selection);
    layout->addWidget(split, 1);
    layout->addWidget(makeTiles());
    return content;
}

void SurvivalPage::setUpControls() {
    m_mode->setObjectName(QStringLiteral("survivalMode"));
    m_mode->addItem(tr("One head"), int(analysis::SurvivalMode::Head));
    m_mode->addItem(tr("Any head"), int(analysis::SurvivalMode::Union));
    m_mode->addItem(tr("Every head"), int(analysis::SurvivalMode::Intersection));
    m_mode->addItem(tr("Share of heads"), int(analysis::SurvivalMode::Count));
    m_mode->setToolTip(tr("Kept by the selected head, by any head (union), by every head "
                          "(intersection), or by which share of heads"));
    m_allLayers->setToolTip(tr("Over the heads of all layers instead of the selected one"));
    auto* modeLabel = new QLabel(tr("Kept &by"));
    modeLabel->setBuddy(m_mode);
    m_pictureLabel->setBuddy(m_picture);
    m_patchesLabel->setBuddy(m_patches);
    m_patches->setObjectName(QStringLiteral("survivalPatches"));
    m_patches->addItem(tr("Tiles"), int(analysis::PatchView::Tiles));
    m_patches->addItem(tr("Thumbnail"), int(analysis::PatchView::Thumbnail));
    m_patches->addItem(tr("Both"), int(analysis::PatchView::Both));
    m_patches->setToolTip(tr("The model saw this picture twice: cut into tiles, and small as a "
                             "whole. Both: a place counts as kept where any patch over it is"));
    for (QWidget* control :
         {static_cast<QWidget*>(modeLabel), static_cast<QWidget*>(m_mode),
          static_cast<QWidget*>(m_allLayers), static_cast<QWidget*>(m_pictureLabel),
          static_cast<QWidget*>(m_picture)}) {
        m_imagePanel->addControl(control);
    }
    connect(m_mode, &QComboBox::currentIndexChanged, this, &SurvivalPage::applyScope);
    connect(m_allLayers, &QCheckBox::toggled, this, &SurvivalPage::applyScope);
    connect(m_picture, &QComboBox::currentIndexChanged, this, &SurvivalPage::showPicture);
    connect(m_patches, &QComboBox::currentIndexChanged, this, &SurvivalPage::applyScope);
    applyScope();
}

QWidget* SurvivalPage::makeTiles() {
    m_scope = new StatTile(tr("shown"));
    m_kept = new StatTile(tr("tokens"));
    m_keptImage = new StatTile(tr("image tokens"));
    m_keptText = new StatTile(tr("text tokens"));
    auto* tiles = new QWidget;
    auto* layout = new QHBoxLayout(tiles);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    for (StatTile* tile : {m_scope, m_kept, m_keptImage, m_keptText}) {
        layout->addWidget(tile, 1);
    }
    return tiles;
}

void SurvivalPage::connectTokens() {
    connect(m_state, &AppState::documentChanged, this, &SurvivalPage::showDocument);
    connect(m_loader, &SurvivalLoader::loaded, this, &SurvivalPage::showSurvival);
    connect(m_image, &SurvivalImage::tokenHovered, m_state, &AppState::hoverToken);
    connect(m_image, &SurvivalImage::tokenSelected, m_state, &AppState::selectToken);
    connect(m_text, &TokenText::tokenHovered, m_state, &AppState::hoverToken);
    connect(m_text, &TokenText::tokenSelected, m_state, &AppState::selectToken);
    connect(m_state, &AppState::tokenHovered, m_image, &SurvivalImage::setHoveredToken);
    connect(m_state, &AppState::tokenHovered, m_text, &TokenText::setHoveredToken);
    connect(m_state, &AppState::tokenSelected, m_image, &SurvivalImage::setSelectedToken);
    connect(m_state, &AppState::tokenSelected, m_text, &TokenText::setSelectedToken);
    for (PlotPanel* panel : {m_imagePanel, m_textPanel}) {
        connect(panel, &PlotPanel::exportRequested, this, &SurvivalPage::exportRequested);
    }
}

void SurvivalPage::applyScope() {
    const auto mode = static_cast<analysis::SurvivalMode>(m_mode->currentData().toInt());
    const bool oneHead = mode == analysis::SurvivalMode::Head;
    m_allLayers->setEnabled(!oneHead);
    m_selector->setScope(oneHead || !m_allLayers->isChecked(), oneHead);
    m_loader->setScope({mode, !oneHead && m_allLayers->isChecked(),
                        static_cast<analysis::PatchView>(m_patches->currentData().toInt())});
}

void SurvivalPage::showDocument() {
    const DocumentPtr& document = m_state->document();
    m_model->setDocument(document);
    sizeTokenColumns(m_table);
    const int pictures = document ? static_cast<int>(document->images.size()) : 0;
    m_picture->clear();
    for (int i = 0; i < pictures; ++i) {
        m_picture->addItem(QString::number(i + 1));
    }
    m_pictureLabel->setVisible(pictures > 1);
    m_picture->setVisible(pictures > 1);
    const bool twice = document && analysis::seesPicturesTwice(*document);
    m_patchesLabel->setVisible(twice);
    m_patches->setVisible(twice);
    const bool usable = document && !document->policies.empty();
    m_empty->setText(document && !usable ? noPolicyText(*document) : noTraceText());
    m_stack->setCurrentIndex(usable ? 1 : 0);
}

void SurvivalPage::showSurvival() {
    const SurvivalView& view = m_loader->view();
    showPicture();
    m_text->setFigure(view.text);
    m_text->setSelectedToken(m_state->selectedToken());
    m_model->setSurvival(view.result);
    showCounts();
}

void SurvivalPage::showPicture() {
    const SurvivalView& view = m_loader->view();
    const auto index = static_cast<std::size_t>(std::max(0, m_picture->currentIndex()));
    m_image->setFigure(index < view.pictures.size() ? view.pictures[index] : nullptr);
    m_image->setSelectedToken(m_state->selectedToken());
}

void SurvivalPage::showCounts() {
    const SurvivalView& view = m_loader->view();
    if (!view.result) {
        for (StatTile* tile : {m_scope, m_kept, m_keptImage, m_keptText}) {
            tile->setValue(QStringLiteral("–"));
        }
        return;
    }
    const analysis::SurvivalResult& result = *view.result;
    const auto show = [&](StatTile* tile, std::int64_t kept, std::int64_t all,
                          const QString& word) {
        if (result.heads == 0) { // "0 of 83" would say that all were evicted
            tile->setValue(QStringLiteral("–"), word);
            return;
        }
        tile->setValue(tr("%1 of %2").arg(kept).arg(all),
                       tr("%1 (%2)").arg(word, formatShare(ratio(kept, all))));
    };
    m_scope->setValue(result.heads == 0   ? tr("no KV cache")
                      : result.heads == 1 ? tr("1 head")
                                          : tr("%1 heads").arg(result.heads),
                      describeScope(view.query));
    show(m_kept, result.kept, static_cast<std::int64_t>(result.share.size()), tr("tokens"));
    show(m_keptImage, result.keptImage, result.imageTokens, tr("image tokens"));
    show(m_keptText, result.keptText, result.textTokens, tr("text tokens"));
}

} // namespace ecokv::ui
