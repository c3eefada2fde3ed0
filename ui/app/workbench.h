#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The desktop without widgets: the state, the workers and the settings, and what happens when a
// file is opened, a run is started or ends. GUI thread.

#include "ui/app/window_settings.h"
#include "ui/workers/demo_builder.h"
#include "ui/workers/file_jobs.h"
#include "ui/workers/head_loader.h"
#include "ui/workers/run_controller.h"
#include "ui/workers/survival_loader.h"

#include <QTimer>

namespace ecokv::ui {

struct WorkbenchOptions {
    EngineFactory engine;
    QString resources;                     ///< folder with demo-model and demo-documents, "" = none
    QString runFolder;                     ///< traces of runs go here
    QString settingsFile;                  ///< "" = the user's own
    QString dataFolder = userDataFolder(); ///< built models go here
};

class Workbench : public QObject {
    Q_OBJECT

public:
    explicit Workbench(const WorkbenchOptions& options, QObject* parent = nullptr);

    AppState* state() { return &m_state; }
    HeadLoader* head() { return &m_head; }
    SurvivalLoader* survival() { return &m_survival; }
    FileJobs* files() { return &m_files; }
    RunController* runs() { return &m_runs; }
    DemoBuilder* demoBuilder() { return &m_demoBuilder; }
    WindowSettings* settings() { return &m_settings; }

    void loadCatalogue();
    /// Reads the demo catalogue and restores the selection. Call once, after the first paint.
    void start();
    void openPath(const QString& path); ///< a trace, a model folder or a picture
    void describeModel(const QString& folder);
    void examine(const session::RunConfig& config); ///< what this run would find
    void run(const session::RunConfig& config);
    /// Writes the settings soon; many calls become one write.
    void saveSoon();
    /// The open trace is the one the last run wrote.
    bool showsLastRun() const;

Q_SIGNALS:
    void modelWanted(const QString& folder);
    void pictureWanted(const QString& path);
    void failed(const ecokv::ui::JobFailure& failure);
    void said(const QString& sentence); ///< for the log
    void recentChanged();
    void saving(); ///< widgets add what only they know

private:
    void connectRuns();
    void connectFiles();
    void save();

    QString m_resources;
    QString m_dataFolder;
    QString m_runFolder;
    QString m_lastTrace;
    WindowSettings m_settings;
    AppState m_state;
    HeadLoader m_head;
    SurvivalLoader m_survival;
    FileJobs m_files;
    RunController m_runs;
    DemoBuilder m_demoBuilder;
    QTimer m_saveTimer;
};

} // namespace ecokv::ui
