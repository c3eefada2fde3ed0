#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Follows the selected policy, layer and head and works out, on a worker, which tokens survive and
// the figures that show it. Older requests are dropped. GUI thread.

#include "analysis/image_tokens.h"
#include "analysis/survival.h"
#include "ui/models/app_state.h"
#include "ui/plots/survival_figure.h"
#include "ui/plots/token_text_figure.h"
#include "ui/workers/job_runner.h"

#include <vector>

namespace ecokv::ui {

/// What the Survival page asks beyond the selection.
struct SurvivalScope {
    analysis::SurvivalMode mode = analysis::SurvivalMode::Head;
    bool allLayers = false; ///< not with Head
    analysis::PatchView patches = analysis::PatchView::Tiles;

    bool operator==(const SurvivalScope&) const = default;
};

struct SurvivalView {
    analysis::SurvivalQuery query;
    std::shared_ptr<const analysis::SurvivalResult> result;      ///< null: nothing to show
    std::vector<std::shared_ptr<const SurvivalFigure>> pictures; ///< [image]
    std::shared_ptr<const TokenTextFigure> text;                 ///< null without a prompt
};

class SurvivalLoader : public QObject {
    Q_OBJECT

public:
    explicit SurvivalLoader(AppState* state, QObject* parent = nullptr);

    const SurvivalView& view() const { return m_view; }
    const SurvivalScope& scope() const { return m_scope; }
    void setScope(const SurvivalScope& scope);

Q_SIGNALS:
    void loaded();
    void failed(const ecokv::ui::JobFailure& failure);

private:
    analysis::SurvivalQuery query() const;
    void reload();
    void show(SurvivalView view);

    AppState* m_state;
    JobRunner m_jobs;
    SurvivalScope m_scope;
    SurvivalView m_view;
};

} // namespace ecokv::ui
