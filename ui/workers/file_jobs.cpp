// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workers/file_jobs.h"

#include "base/error.h"
#include "ui/models/paths.h"

#include <QFileInfo>

namespace ecokv::ui {

FileJobs::FileJobs(QObject* parent)
    : QObject(parent), m_opening(QStringLiteral("open")), m_writing(QStringLiteral("write")),
      m_catalogue(QStringLiteral("catalogue")) {
    connect(&m_opening, &JobRunner::failed, this, [this](const JobFailure& failure) {
        Q_EMIT traceFailed(m_openingPath, failure);
        Q_EMIT failed(failure);
    });
    connect(&m_opening, &JobRunner::started, this, &FileJobs::openingStarted);
    connect(&m_opening, &JobRunner::finished, this, &FileJobs::openingEnded);
    connect(&m_writing, &JobRunner::failed, this, &FileJobs::failed);
    connect(&m_catalogue, &JobRunner::failed, this, &FileJobs::failed);
}

void FileJobs::openTrace(const QString& path) {
    m_openingPath = path;
    m_opening.submit(
        tr("Opening %1").arg(QFileInfo(path).fileName()),
        [path](const CancellationToken&) { return analysis::openTrace(toPath(path)); },
        [this](const DocumentPtr& document) { Q_EMIT traceOpened(document); });
}

void FileJobs::cancelOpening() {
    m_opening.cancel();
}

void FileJobs::saveTrace(const DocumentPtr& document, const QString& path) {
    m_writing.submit(
        tr("Saving %1").arg(QFileInfo(path).fileName()),
        [from = fromPath(document->path), path](const CancellationToken&) {
            copyFile(from, path);
            return path;
        },
        [this](const QString& to) { Q_EMIT written(to); });
}

void FileJobs::exportFigure(const FigurePtr& figure, const QString& path,
                            const ExportOptions& options) {
    m_writing.submit(
        tr("Exporting %1").arg(QFileInfo(path).fileName()),
        [figure, path, options](const CancellationToken&) {
            ui::exportFigure(*figure, toPath(path), options);
            return path;
        },
        [this](const QString& to) { Q_EMIT written(to); });
}

void FileJobs::loadCatalogue(const QString& resources, const QString& dataFolder) {
    m_catalogue.submit(
        tr("Reading the demo documents"),
        [resources, dataFolder](const CancellationToken&) {
            return loadDemoCatalogue(resources, dataFolder);
        },
        [this](const DemoCatalogue& catalogue) { Q_EMIT catalogueLoaded(catalogue); });
}

void copyFile(const QString& from, const QString& to) {
    const std::filesystem::path target = toPath(to);
    std::filesystem::path temporary = target;
    temporary += ".part";
    std::error_code error;
    if (std::filesystem::equivalent(toPath(from), target, error)) {
        return;
    }
    std::filesystem::copy_file(toPath(from), temporary,
                               std::filesystem::copy_options::overwrite_existing, error);
    if (!error) {
        std::filesystem::rename(temporary, target, error);
    }
    if (error) {
        std::error_code ignored;
        std::filesystem::remove(temporary, ignored);
        throwBadInput("The trace cannot be saved as " + to.toStdString() + ": " + error.message() +
                          ".",
                      "Choose another folder, or free some space.");
    }
}

} // namespace ecokv::ui
