// SPDX-License-Identifier: GPL-3.0-or-later
// The window's runs: what the Run panel asks for, the doctor before it, and what comes of it.
#include "ui/app/main_window.h"
#include "ui/models/formatting.h"
#include "ui/models/run_summary.h"
#include "ui/pages/answers_page.h"
#include "ui/pages/error_bar.h"
#include "ui/pages/model_picker.h"
#include "ui/pages/run_panel.h"
#include "ui/pages/timeline_panel.h"

namespace ecokv::ui {

namespace {

constexpr int kExamineAfterMs = 400;

} // namespace

void MainWindow::connectRunPanel() {
    connect(m_run, &RunPanel::runRequested, this, &MainWindow::requestRun);
    connect(m_run, &RunPanel::stopRequested, this, &MainWindow::requestStop);
    connect(m_run, &RunPanel::modelChosen, this, &MainWindow::describeModel);
    connect(m_run, &RunPanel::failed, this, &MainWindow::announce);
    connect(m_run, &RunPanel::changed, m_bench, &Workbench::saveSoon);
    connect(m_bench, &Workbench::modelWanted, m_run, &RunPanel::openModel);
    connect(m_bench, &Workbench::pictureWanted, m_run, &RunPanel::addPicture);
    connect(m_bench->runs(), &RunController::modelDescribed, m_run->modelPicker(),
            &ModelPicker::showSummary);
    connect(m_bench->runs(), &RunController::modelFailed, m_run->modelPicker(),
            &ModelPicker::showFailure);
    connectDoctor();
}

/// The engine is loaded for a description, never for the doctor alone: opening a trace stays quick.
void MainWindow::connectDoctor() {
    RunController* runs = m_bench->runs();
    m_doctorTimer.setSingleShot(true);
    m_doctorTimer.setInterval(kExamineAfterMs);
    connect(runs, &RunController::modelDescribed, this, [this] {
        m_knowsModel = true;
        examine();
    });
    connect(runs, &RunController::modelFailed, this, [this] {
        m_knowsModel = true;
        examine();
    });
    connect(runs, &RunController::examined, m_run, &RunPanel::showReport);
    connect(m_run, &RunPanel::changed, this, &MainWindow::examineSoon);
    connect(&m_doctorTimer, &QTimer::timeout, this, &MainWindow::examine);
}

void MainWindow::examineSoon() {
    if (m_knowsModel) {
        m_doctorTimer.start();
    }
}

void MainWindow::examine() {
    if (!m_run->modelPicker()->folder().isEmpty() && !m_bench->runs()->isRunning()) {
        m_bench->examine(m_run->config());
    }
}

void MainWindow::connectRuns() {
    RunController* runs = m_bench->runs();
    connect(runs, &RunController::runStarted, this, [this](const session::RunConfig& config) {
        m_errors->dismiss();
        m_run->setRunning(true);
        m_answers->beginRun(config, m_run->expectedAnswer());
        m_timeline->begin(tr("Run started."));
        showPage(RunPage);
    });
    connect(runs, &RunController::progressed, m_timeline, &TimelinePanel::showProgress);
    connect(runs, &RunController::textArrived, m_answers, &AnswersPage::appendText);
    connect(runs, &RunController::ledgerArrived, m_answers, &AnswersPage::showLedger);
    connect(runs, &RunController::runFinished, this, &MainWindow::showResult);
    connect(runs, &RunController::runStopped, this, [this] { giveUpRun(tr("Run stopped.")); });
    connect(runs, &RunController::runFailed, this, [this] { giveUpRun(tr("Run failed.")); });
}

void MainWindow::describeModel(const QString& folder) {
    if (!folder.isEmpty() && !m_viewsOnly) {
        m_run->modelPicker()->showLooking();
        m_bench->describeModel(folder);
    }
}

void MainWindow::requestRun() {
    const QString obstacle = m_run->obstacle();
    if (m_bench->runs()->isRunning()) {
        return;
    }
    if (!obstacle.isEmpty()) {
        m_timeline->log(obstacle);
        m_run->focusPrompt();
        return;
    }
    m_bench->run(m_run->config());
}

void MainWindow::showResult(const RunResultPtr& result) {
    m_answers->showSummary(summariseRun(*result));
    endRun(tr("Run finished in %1.").arg(formatSeconds(result->timings.totalSeconds)));
}

void MainWindow::endRun(const QString& sentence) {
    m_run->setRunning(false);
    m_timeline->end(sentence);
    if (m_bench->runs()->isRunning()) {
        m_run->setRunning(true);
    }
}

void MainWindow::giveUpRun(const QString& sentence) {
    if (!m_bench->runs()->isRunning()) { // else the page is the next run's already
        m_answers->endRun(sentence);
    }
    endRun(sentence);
}

} // namespace ecokv::ui
