// SPDX-License-Identifier: GPL-3.0-or-later
// The window's files: open and save dialogs, drops, and closing. Its layout is in main_window.cpp.
#include "ui/app/main_window.h"
#include "ui/models/paths.h"
#include "ui/pages/timeline_panel.h"

#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QMimeData>

namespace ecokv::ui {

void MainWindow::chooseTrace() {
    const QString path = QFileDialog::getOpenFileName(
        this, tr("Open a trace"), {}, tr("Traces (*.h5 *.hdf5 *.part);;All files (*)"));
    if (!path.isEmpty()) {
        m_bench->files()->openTrace(path);
    }
}

void MainWindow::saveTraceAs() {
    const DocumentPtr& document = m_bench->state()->document();
    if (!document) {
        return;
    }
    const QString name = fromPath(document->path.filename());
    const QString path =
        QFileDialog::getSaveFileName(this, tr("Save the trace as"), name, tr("Traces (*.h5)"));
    if (!path.isEmpty()) {
        m_bench->files()->saveTrace(document, path);
    }
}

void MainWindow::exportFigure(const FigurePtr& figure) {
    const QStringList filters = exportFilters();
    QString filter = filters.value(0);
    QString path = QFileDialog::getSaveFileName(this, tr("Export %1").arg(figure->title()), {},
                                                filters.join(QStringLiteral(";;")), &filter);
    if (path.isEmpty()) {
        return;
    }
    if (QFileInfo(path).suffix().isEmpty()) {
        path += filter.section(u'*', 1).section(u')', 0, 0); // ".png" of "PNG picture (*.png)"
    }
    m_bench->files()->exportFigure(figure, path, {});
}

void MainWindow::requestStop() {
    if (!m_bench->runs()->isRunning()) {
        m_bench->demoBuilder()->cancel(); // else the next Esc does
    }
    m_bench->runs()->stop();
    m_bench->files()->cancelOpening();
}

void MainWindow::showOpening() {
    const QString name = QFileInfo(m_bench->files()->openingPath()).fileName();
    m_timeline->begin(tr("Opening %1… (Esc stops)").arg(name));
    connect(
        m_bench->files(), &FileJobs::openingEnded, m_timeline,
        [this] { m_timeline->end(tr("Ready.")); }, Qt::SingleShotConnection);
}

void MainWindow::closeEvent(QCloseEvent* event) {
    remember();
    m_bench->settings()->sync();
    QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls()) {
        event->acceptProposedAction();
    }
}

void MainWindow::dropEvent(QDropEvent* event) {
    const QList<QUrl> urls = event->mimeData()->urls();
    for (const QUrl& url : urls) {
        if (url.isLocalFile()) {
            m_bench->openPath(url.toLocalFile());
        }
    }
    event->acceptProposedAction();
}

void MainWindow::moveEvent(QMoveEvent* event) {
    QMainWindow::moveEvent(event);
    m_bench->saveSoon();
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    m_bench->saveSoon();
}

} // namespace ecokv::ui
