// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workers/head_loader.h"

#include "ui/plots/figure_builders.h"

namespace ecokv::ui {

HeadLoader::HeadLoader(AppState* state, QObject* parent)
    : QObject(parent), m_state(state), m_jobs(QStringLiteral("head")) {
    connect(state, &AppState::documentChanged, this, &HeadLoader::reload);
    connect(state, &AppState::policyChanged, this, &HeadLoader::reload);
    connect(state, &AppState::headChanged, this, &HeadLoader::reload);
    connect(&m_jobs, &JobRunner::failed, this, [this](const JobFailure& failure) {
        show({});
        Q_EMIT failed(failure);
    });
}

void HeadLoader::setDiversity(analysis::DiversityKind kind) {
    if (kind != m_diversity) {
        m_diversity = kind;
        reload();
    }
}

void HeadLoader::setLogImportance(bool on) {
    if (on != m_logImportance) {
        m_logImportance = on;
        reload();
    }
}

void HeadLoader::reload() {
    const DocumentPtr document = m_state->document();
    if (!document || m_state->policy() == nullptr) {
        m_jobs.cancel();
        show({});
        return;
    }
    m_jobs.submit(
        tr("Reading the scores of a head"),
        [document, selection = m_state->selection(), kind = m_diversity,
         logX = m_logImportance](const CancellationToken&) {
            auto scatter = std::make_shared<const analysis::HeadScatter>(
                analysis::headScatter(*document, selection.policyId.toStdString(), selection.layer,
                                      selection.kvHead, kind));
            auto strip = std::make_shared<const ScoreStripData>(ScoreStripData{
                document, analysis::tokenSeries(*document, selection.policyId.toStdString(),
                                                selection.layer, selection.kvHead)});
            return HeadView{selection, scatter, scatterFigure(document, *scatter, logX), strip};
        },
        [this](HeadView view) { show(std::move(view)); });
}

void HeadLoader::show(HeadView view) {
    m_view = std::move(view);
    Q_EMIT loaded();
}

} // namespace ecokv::ui
