// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/app/workbench.h"

#include "ui/models/formatting.h"
#include "ui/models/paths.h"

#include <QFileInfo>

namespace ecokv::ui {

namespace {

constexpr int kSaveAfterMs = 400;

} // namespace

Workbench::Workbench(const WorkbenchOptions& options, QObject* parent)
    : QObject(parent), m_resources(options.resources), m_dataFolder(options.dataFolder),
      m_runFolder(options.runFolder),
      m_settings(options.settingsFile.isEmpty() ? WindowSettings()
                                                : WindowSettings(options.settingsFile)),
      m_head(&m_state), m_survival(&m_state), m_runs(options.engine) {
    m_saveTimer.setSingleShot(true);
    m_saveTimer.setInterval(kSaveAfterMs);
    connect(&m_saveTimer, &QTimer::timeout, this, &Workbench::save);
    connect(&m_state, &AppState::headChanged, this, &Workbench::saveSoon);
    connect(&m_state, &AppState::policyChanged, this, &Workbench::saveSoon);
    connect(&m_head, &HeadLoader::failed, this, &Workbench::failed);
    connect(&m_survival, &SurvivalLoader::failed, this, &Workbench::failed);
    connect(&m_demoBuilder, &DemoBuilder::failed, this, &Workbench::failed);
    connectRuns();
    connectFiles();
}

void Workbench::connectRuns() {
    connect(&m_runs, &RunController::modelFailed, this, &Workbench::failed);
    connect(&m_runs, &RunController::runFailed, this, &Workbench::failed);
    connect(&m_runs, &RunController::noteArrived, this, &Workbench::said);
    connect(&m_runs, &RunController::modelDescribed, this,
            [this](const session::ModelSummary& summary) {
                m_settings.addRecent(QStringLiteral("models"),
                                     QString::fromStdString(summary.path));
                Q_EMIT recentChanged();
                saveSoon();
            });
    connect(&m_runs, &RunController::runFinished, this, [this](const RunResultPtr& result) {
        if (!result->trace.empty()) {
            m_lastTrace = fromPath(result->trace);
            m_files.openTrace(m_lastTrace);
        }
    });
}

void Workbench::connectFiles() {
    connect(&m_files, &FileJobs::failed, this, &Workbench::failed);
    connect(&m_files, &FileJobs::traceOpened, this, [this](const DocumentPtr& document) {
        m_state.setDocument(document);
        const QString path = fromPath(document->path);
        if (path != m_lastTrace) {
            m_settings.addRecent(QStringLiteral("traces"), path);
            Q_EMIT recentChanged();
        }
        for (const std::string& problem : document->problems) {
            Q_EMIT said(QString::fromStdString(problem));
        }
        Q_EMIT said(tr("Opened %1.").arg(QFileInfo(path).fileName()));
        saveSoon();
    });
    connect(&m_files, &FileJobs::traceFailed, this, [this](const QString& path) {
        m_settings.removeRecent(QStringLiteral("traces"), path);
        Q_EMIT recentChanged();
    });
    connect(&m_files, &FileJobs::written, this,
            [this](const QString& path) { Q_EMIT said(tr("Wrote %1.").arg(path)); });
}

void Workbench::start() {
    const HeadSelection selection = m_settings.selection();
    m_state.selectPolicy(selection.policyId);
    m_state.selectHead(selection.layer, selection.kvHead);
    loadCatalogue();
}

void Workbench::loadCatalogue() {
    m_files.loadCatalogue(m_resources, m_dataFolder);
}

void Workbench::openPath(const QString& path) {
    switch (guessPathKind(path)) {
    case PathKind::Trace:
        m_files.openTrace(path);
        break;
    case PathKind::Model:
        Q_EMIT modelWanted(path);
        break;
    case PathKind::Picture:
        Q_EMIT pictureWanted(path);
        break;
    }
}

void Workbench::describeModel(const QString& folder) {
    m_runs.describeModel(folder);
}

void Workbench::examine(const session::RunConfig& config) {
    session::DoctorRequest request;
    request.model = config.model;
    request.images = config.images;
    request.prompt = config.prompt;
    request.applyTemplate = config.applyTemplate;
    request.pictureReading = config.pictureReading;
    request.budget = config.policy.budget;
    request.maxNewTokens = config.maxNewTokens;
    request.device = config.device;
    request.dtype = config.dtype;
    m_runs.examine(request);
}

void Workbench::run(const session::RunConfig& config) {
    m_runs.run(config, m_runFolder);
}

void Workbench::saveSoon() {
    m_saveTimer.start();
}

bool Workbench::showsLastRun() const {
    return m_state.document() && fromPath(m_state.document()->path) == m_lastTrace;
}

void Workbench::save() {
    m_settings.setSelection(m_state.selection());
    Q_EMIT saving();
    m_settings.sync();
}

} // namespace ecokv::ui
