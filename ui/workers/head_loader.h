#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Follows the selected head and loads what the Head page and the Inspector show of it, on a worker.
// While the selection moves on, older loads are dropped. GUI thread.

#include "analysis/head_scatter.h"
#include "ui/models/app_state.h"
#include "ui/plots/scatter_figure.h"
#include "ui/plots/score_strip_plot.h"
#include "ui/workers/job_runner.h"

namespace ecokv::ui {

struct HeadView {
    HeadSelection selection;
    std::shared_ptr<const analysis::HeadScatter> scatter; ///< null: nothing to show
    std::shared_ptr<const ScatterFigure> figure;
    std::shared_ptr<const ScoreStripData> strip; ///< the same scores along the prompt
};

class HeadLoader : public QObject {
    Q_OBJECT

public:
    explicit HeadLoader(AppState* state, QObject* parent = nullptr);

    const HeadView& view() const { return m_view; }
    analysis::DiversityKind diversity() const { return m_diversity; }
    void setDiversity(analysis::DiversityKind kind);
    void setLogImportance(bool on);

Q_SIGNALS:
    void loaded();
    void failed(const ecokv::ui::JobFailure& failure);

private:
    void reload();
    void show(HeadView view);

    AppState* m_state;
    JobRunner m_jobs;
    HeadView m_view;
    analysis::DiversityKind m_diversity = analysis::DiversityKind::Composite;
    bool m_logImportance = false;
};

} // namespace ecokv::ui
