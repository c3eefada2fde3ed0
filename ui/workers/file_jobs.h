#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Files the window reads and writes, on a worker: opening traces, saving a copy of the open one,
// exporting figures. One failure signal for all. GUI thread.

#include "ui/models/app_state.h"
#include "ui/models/demo_catalogue.h"
#include "ui/plots/figure_export.h"
#include "ui/workers/job_runner.h"

namespace ecokv::ui {

class FileJobs : public QObject {
    Q_OBJECT

public:
    explicit FileJobs(QObject* parent = nullptr);

    void openTrace(const QString& path);
    void cancelOpening();
    QString openingPath() const { return m_openingPath; }
    void saveTrace(const DocumentPtr& document, const QString& path);
    void exportFigure(const FigurePtr& figure, const QString& path, const ExportOptions& options);
    void loadCatalogue(const QString& resources, const QString& dataFolder = userDataFolder());

Q_SIGNALS:
    void traceOpened(const ecokv::ui::DocumentPtr& document);
    void openingStarted();
    void openingEnded(); ///< opened, failed or cancelled
    void traceFailed(const QString& path, const ecokv::ui::JobFailure& failure);
    void catalogueLoaded(const ecokv::ui::DemoCatalogue& catalogue);
    void written(const QString& path);
    void failed(const ecokv::ui::JobFailure& failure);

private:
    JobRunner m_opening;
    JobRunner m_writing;
    JobRunner m_catalogue;
    QString m_openingPath;
};

/// Copies under a temporary name first, so that `to` is complete or not there. Worker.
void copyFile(const QString& from, const QString& to);

} // namespace ecokv::ui
