// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/app/main_window.h"

#include "ui/app/window_actions.h"
#include "ui/models/paths.h"
#include "ui/pages/answers_page.h"
#include "ui/pages/error_bar.h"
#include "ui/pages/head_page.h"
#include "ui/pages/heads_page.h"
#include "ui/pages/inspector_panel.h"
#include "ui/pages/model_picker.h"
#include "ui/pages/run_panel.h"
#include "ui/pages/survival_page.h"
#include "ui/pages/timeline_panel.h"
#include "ui/pages/trace_page.h"

#include <QDir>
#include <QDockWidget>
#include <QFileInfo>
#include <QTabWidget>
#include <QVBoxLayout>

namespace ecokv::ui {

namespace {

constexpr QSize kFirstSize(1280, 800);
constexpr int kShowOpeningAfterMs = 200;
constexpr int kRunWidth = 300, kInspectorWidth = 240, kTimelineHeight = 110;
const char* const kMetricSetting = "heads/metric";
const char* const kTraceSetting = "window/trace";
const char* const kPageSetting = "window/page";

} // namespace

MainWindow::MainWindow(Workbench* bench, QWidget* parent)
    : QMainWindow(parent), m_bench(bench), m_run(new RunPanel), m_timeline(new TimelinePanel),
      m_errors(new ErrorBar), m_pages(new QTabWidget), m_answers(new AnswersPage),
      m_heads(new HeadsPage(bench->state())), m_head(new HeadPage(bench->state(), bench->head())),
      m_survival(new SurvivalPage(bench->state(), bench->survival())),
      m_trace(new TracePage(bench->state())) {
    setWindowTitle(tr("EcoKV Lens"));
    setAcceptDrops(true);
    setCentralWidget(makeCentre());
    setUpDocks();
    m_actions = new WindowActions(this);
    connectRunPanel();
    connectRuns();
    connectPages();
    connectDemo();
    restore();
}

MainWindow::~MainWindow() = default;

QWidget* MainWindow::makeCentre() {
    m_pages->setDocumentMode(true);
    m_pages->addTab(m_answers, tr("Run"));
    m_pages->addTab(m_heads, tr("Heads"));
    m_pages->addTab(m_head, tr("Head"));
    m_pages->addTab(m_survival, tr("Survival"));
    m_pages->addTab(m_trace, tr("Trace"));
    const QStringList toolTips = {
        tr("What did I run? (Ctrl+1)"), tr("Which heads are redundant? (Ctrl+2)"),
        tr("What do this head's keys look like? (Ctrl+3)"),
        tr("Which patches and words survive? (Ctrl+4)"), tr("What is in the file? (Ctrl+5)")};
    for (int i = 0; i < m_pages->count(); ++i) {
        m_pages->setTabToolTip(i, toolTips[i]);
    }
    auto* centre = new QWidget;
    auto* layout = new QVBoxLayout(centre);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_errors);
    layout->addWidget(m_pages, 1);
    return centre;
}

QDockWidget* MainWindow::addDock(const QString& name, const QString& title, QWidget* widget,
                                 Qt::DockWidgetArea area) {
    auto* dock = new QDockWidget(title, this);
    dock->setObjectName(name);
    dock->setWidget(widget);
    addDockWidget(area, dock);
    connect(dock, &QDockWidget::visibilityChanged, m_bench, &Workbench::saveSoon);
    connect(dock, &QDockWidget::dockLocationChanged, m_bench, &Workbench::saveSoon);
    m_docks << dock;
    return dock;
}

void MainWindow::setUpDocks() {
    setDockNestingEnabled(true);
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    auto* inspector = new InspectorPanel({m_bench->state(), m_bench->head(), m_bench->survival()});
    addDock(QStringLiteral("run"), tr("Run"), m_run, Qt::LeftDockWidgetArea);
    addDock(QStringLiteral("inspector"), tr("Inspector"), inspector, Qt::RightDockWidgetArea);
    addDock(QStringLiteral("timeline"), tr("Timeline"), m_timeline, Qt::BottomDockWidgetArea);
    m_openingTimer.setSingleShot(true);
    m_openingTimer.setInterval(kShowOpeningAfterMs);
    resize(kFirstSize);
    resetLayout();
}

void MainWindow::resetLayout() {
    const Qt::DockWidgetArea areas[] = {Qt::LeftDockWidgetArea, Qt::RightDockWidgetArea,
                                        Qt::BottomDockWidgetArea};
    for (int i = 0; i < m_docks.size(); ++i) {
        m_docks[i]->setFloating(false);
        addDockWidget(areas[i], m_docks[i]);
        m_docks[i]->show();
    }
    resizeDocks({m_docks[0], m_docks[1]}, {kRunWidth, kInspectorWidth}, Qt::Horizontal);
    resizeDocks({m_docks[2]}, {kTimelineHeight}, Qt::Vertical);
}

void MainWindow::connectPages() {
    connect(m_bench, &Workbench::failed, this, &MainWindow::announce);
    connect(m_bench, &Workbench::said, m_timeline, &TimelinePanel::log);
    connect(m_bench->files(), &FileJobs::openingStarted, &m_openingTimer,
            qOverload<>(&QTimer::start));
    connect(m_bench->files(), &FileJobs::openingEnded, &m_openingTimer, &QTimer::stop);
    connect(&m_openingTimer, &QTimer::timeout, this, &MainWindow::showOpening);
    connect(m_bench, &Workbench::saving, this, &MainWindow::remember);
    connect(m_bench->state(), &AppState::documentChanged, this, &MainWindow::showDocument);
    connect(m_bench->state(), &AppState::policyChanged, this, &MainWindow::showDocument);
    connect(m_pages, &QTabWidget::currentChanged, m_bench, &Workbench::saveSoon);
    connect(m_heads, &HeadsPage::metricChanged, m_bench, &Workbench::saveSoon);
    connect(m_answers, &AnswersPage::startRequested, this, &MainWindow::requestRun);
    connect(m_heads, &HeadsPage::startRequested, this, &MainWindow::requestRun);
    connect(m_head, &HeadPage::startRequested, this, &MainWindow::requestRun);
    connect(m_survival, &SurvivalPage::startRequested, this, &MainWindow::requestRun);
    connect(m_trace, &TracePage::openRequested, this, &MainWindow::chooseTrace);
    connect(m_answers, &AnswersPage::exportRequested, this, &MainWindow::exportFigure);
    connect(m_heads, &HeadsPage::exportRequested, this, &MainWindow::exportFigure);
    connect(m_head, &HeadPage::exportRequested, this, &MainWindow::exportFigure);
    connect(m_survival, &SurvivalPage::exportRequested, this, &MainWindow::exportFigure);
}

void MainWindow::showPage(Page page) {
    m_pages->setCurrentIndex(page);
}

void MainWindow::restore() {
    WindowSettings* settings = m_bench->settings();
    if (!settings->geometry().isEmpty()) {
        restoreGeometry(settings->geometry());
        restoreState(settings->layout());
    }
    m_heads->setMetric(
        settings->value(QLatin1String(kMetricSetting), QStringLiteral("redundancy")));
    m_pages->setCurrentIndex(settings->value(QLatin1String(kPageSetting), {}).toInt());
    if (const auto config = settings->runConfig()) {
        m_run->setConfig(*config);
    } else {
        m_firstStart = true;
    }
}

void MainWindow::remember() {
    WindowSettings* settings = m_bench->settings();
    settings->setLayout(saveGeometry(), saveState());
    settings->setRunConfig(m_run->config());
    settings->setValue(QLatin1String(kMetricSetting), m_heads->metric());
    if (const DocumentPtr& document = m_bench->state()->document()) {
        settings->setValue(QLatin1String(kTraceSetting), fromPath(document->path));
    }
    settings->setValue(QLatin1String(kPageSetting), QString::number(m_pages->currentIndex()));
}

void MainWindow::start(const QStringList& paths) {
    m_bench->start();
    bool opensTrace = false;
    bool opensModel = false;
    for (const QString& path : paths) {
        opensTrace = opensTrace || guessPathKind(path) == PathKind::Trace;
        if (guessPathKind(path) == PathKind::Model) {
            opensModel = true;
            m_wantedModel = QDir::cleanPath(path);
        }
        m_bench->openPath(path);
    }
    m_viewsOnly = opensTrace && !opensModel;
    if (opensTrace) {
        showPage(SurvivalPageIndex);
    } else if (!opensModel && !m_firstStart) {
        reopenLastTrace();
        describeModel(m_run->modelPicker()->folder());
    }
}

void MainWindow::reopenLastTrace() {
    const QString trace = m_bench->settings()->value(QLatin1String(kTraceSetting), {});
    if (QFileInfo::exists(trace)) {
        m_bench->files()->openTrace(trace);
    }
}

void MainWindow::showDocument() {
    const DocumentPtr& document = m_bench->state()->document();
    if (!document) {
        return;
    }
    const analysis::PolicyView* policy = m_bench->state()->policy();
    const std::string shown = document->provenance(policy != nullptr ? policy->id : "");
    setWindowTitle(tr("%1 – EcoKV Lens").arg(QString::fromStdString(shown)));
    m_actions->setTraceOpen(true);
    if (!m_bench->showsLastRun()) {
        m_answers->showTrace(*document, policy);
    }
    m_answers->showDecoding(document, policy);
}

void MainWindow::announce(const JobFailure& failure) {
    m_errors->showFailure(failure);
    m_timeline->log(failure.message);
}

} // namespace ecokv::ui
