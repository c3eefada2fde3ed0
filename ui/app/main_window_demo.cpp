// SPDX-License-Identifier: GPL-3.0-or-later
// The window's demo models: what is offered at the first start, and building the real one.
#include "ui/app/main_window.h"
#include "ui/pages/error_bar.h"
#include "ui/pages/model_picker.h"
#include "ui/pages/real_demo_offer.h"
#include "ui/pages/run_panel.h"
#include "ui/pages/timeline_panel.h"

#include <QPushButton>

namespace ecokv::ui {

void MainWindow::connectDemo() {
    RealDemoOffer* offer = m_run->realDemoOffer();
    DemoBuilder* builder = m_bench->demoBuilder();
    connect(m_bench->files(), &FileJobs::catalogueLoaded, this, &MainWindow::showCatalogue);
    connect(offer, &RealDemoOffer::buildRequested, this, &MainWindow::buildRealDemo);
    connect(offer, &RealDemoOffer::cancelRequested, builder, &DemoBuilder::cancel);
    connect(offer, &RealDemoOffer::openRequested, this, [this] { m_run->showRealDemo(0, 0); });
    connect(builder, &DemoBuilder::started, this, [this] {
        m_errors->dismiss();
        m_run->realDemoOffer()->setBuilding(true);
        m_timeline->log(tr("Building the real LLM. (Esc stops)"));
    });
    connect(builder, &DemoBuilder::progressed, this, [this](const ProgressView& progress) {
        m_run->realDemoOffer()->showProgress(progress);
        if (!m_bench->runs()->isRunning()) {
            m_timeline->showProgress(progress);
        }
    });
    connect(builder, &DemoBuilder::built, this, &MainWindow::showBuilt);
    connect(builder, &DemoBuilder::cancelled, this,
            [this] { m_timeline->log(tr("Stopped building the real LLM; nothing was kept.")); });
    connect(builder, &DemoBuilder::ended, this, [this] {
        m_run->realDemoOffer()->setBuilding(m_bench->demoBuilder()->isBuilding());
        if (!m_bench->runs()->isRunning()) {
            m_timeline->end(tr("Ready."));
        }
    });
}

void MainWindow::showCatalogue(const DemoCatalogue& catalogue) {
    m_catalogue = catalogue;
    m_run->setCatalogue(catalogue);
    const bool untouched = m_run->modelPicker()->folder().isEmpty();
    if (catalogue.real.built && m_wantedModel == catalogue.real.folder) {
        m_run->showRealDemo(0, 0); // ./run --demo 135m
    } else if (m_firstStart && untouched && !catalogue.documents.empty()) {
        m_run->showDemo(0, 0);
    }
    m_firstStart = false;
    m_viewsOnly = false;
    m_run->runButton()->setFocus();
}

void MainWindow::buildRealDemo() {
    if (!m_bench->demoBuilder()->isBuilding()) {
        m_bench->demoBuilder()->build(m_catalogue.real);
    }
}

void MainWindow::showBuilt(const QString& folder) {
    m_catalogue.real.folder = folder;
    m_catalogue.real.built = true;
    m_run->setCatalogue(m_catalogue);
    m_timeline->log(tr("Built the real LLM in %1.").arg(folder));
    if (!m_bench->runs()->isRunning()) {
        m_run->showRealDemo(0, 0);
        m_run->runButton()->setFocus();
    }
}

} // namespace ecokv::ui
