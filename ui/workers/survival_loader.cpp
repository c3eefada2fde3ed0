// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workers/survival_loader.h"

#include "ui/plots/figure_builders.h"

namespace ecokv::ui {

namespace {

SurvivalView computeView(const DocumentPtr& document, const analysis::SurvivalQuery& query,
                         analysis::PatchView patches) {
    SurvivalView view;
    view.query = query;
    const SurvivalInput input{document, query, analysis::survival(*document, query), patches};
    view.result = std::make_shared<const analysis::SurvivalResult>(input.survival);
    for (std::size_t image = 0; image < document->images.size(); ++image) {
        view.pictures.push_back(survivalFigure(input, image));
    }
    if (document->prompt) {
        view.text = tokenTextFigure(input);
    }
    return view;
}

} // namespace

SurvivalLoader::SurvivalLoader(AppState* state, QObject* parent)
    : QObject(parent), m_state(state), m_jobs(QStringLiteral("survival")) {
    connect(state, &AppState::documentChanged, this, &SurvivalLoader::reload);
    connect(state, &AppState::policyChanged, this, &SurvivalLoader::reload);
    connect(state, &AppState::headChanged, this, &SurvivalLoader::reload);
    connect(&m_jobs, &JobRunner::failed, this, [this](const JobFailure& failure) {
        show({});
        Q_EMIT failed(failure);
    });
}

void SurvivalLoader::setScope(const SurvivalScope& scope) {
    if (scope != m_scope) {
        m_scope = scope;
        reload();
    }
}

analysis::SurvivalQuery SurvivalLoader::query() const {
    const HeadSelection& selection = m_state->selection();
    const bool oneHead = m_scope.mode == analysis::SurvivalMode::Head;
    analysis::SurvivalQuery query;
    query.policyId = selection.policyId.toStdString();
    query.mode = m_scope.mode;
    query.layer = m_scope.allLayers && !oneHead ? -1 : selection.layer;
    query.kvHead = selection.kvHead;
    return query;
}

void SurvivalLoader::reload() {
    const DocumentPtr document = m_state->document();
    if (!document || m_state->policy() == nullptr) {
        m_jobs.cancel();
        show({});
        return;
    }
    m_jobs.submit(
        tr("Working out the survivors"),
        [document, query = query(), patches = m_scope.patches](const CancellationToken&) {
            return computeView(document, query, patches);
        },
        [this](SurvivalView view) { show(std::move(view)); });
}

void SurvivalLoader::show(SurvivalView view) {
    m_view = std::move(view);
    Q_EMIT loaded();
}

} // namespace ecokv::ui
