#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The window: Run dock left, pages in the middle, Inspector right, timeline below. It arranges
// widgets and passes signals on; what happens is the Workbench's. GUI thread.

#include "ui/app/appearance.h"
#include "ui/app/workbench.h"

#include <QMainWindow>

class QTabWidget;

namespace ecokv::ui {

class AnswersPage;
class ErrorBar;
class HeadPage;
class HeadsPage;
class InspectorPanel;
class RunPanel;
class SurvivalPage;
class TimelinePanel;
class TracePage;
class WindowActions;

class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    enum Page { RunPage, HeadsPageIndex, HeadPageIndex, SurvivalPageIndex, TracePageIndex };

    explicit MainWindow(Workbench* bench, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Restores what was open, or the demo; `paths` from the command line win.
    void start(const QStringList& paths);
    void showPage(Page page);

    RunPanel* runPanel() const { return m_run; }
    AnswersPage* answersPage() const { return m_answers; }
    HeadsPage* headsPage() const { return m_heads; }
    SurvivalPage* survivalPage() const { return m_survival; }
    ErrorBar* errorBar() const { return m_errors; }
    TimelinePanel* timeline() const { return m_timeline; }

    void requestRun();
    void requestStop();
    void chooseTrace();
    void saveTraceAs();
    void exportFigure(const FigurePtr& figure);
    void resetLayout();
    void announce(const JobFailure& failure);

Q_SIGNALS:
    void appearanceRequested(ecokv::ui::Appearance appearance);

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void moveEvent(QMoveEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    friend class WindowActions;

    QWidget* makeCentre();
    QDockWidget* addDock(const QString& name, const QString& title, QWidget* widget,
                         Qt::DockWidgetArea area);
    void setUpDocks();
    void connectRunPanel();
    void connectDoctor();
    void connectRuns();
    void connectPages();
    void connectDemo();
    void restore();
    void remember();
    void reopenLastTrace();
    void describeModel(const QString& folder);
    void examineSoon();
    void examine();
    void showCatalogue(const DemoCatalogue& catalogue);
    void buildRealDemo();
    void showBuilt(const QString& folder);
    void showDocument();
    void showOpening();
    void showResult(const RunResultPtr& result);
    void endRun(const QString& sentence);
    void giveUpRun(const QString& sentence); ///< stopped or failed

    Workbench* m_bench;
    RunPanel* m_run;
    TimelinePanel* m_timeline;
    ErrorBar* m_errors;
    QTabWidget* m_pages;
    AnswersPage* m_answers;
    HeadsPage* m_heads;
    HeadPage* m_head;
    SurvivalPage* m_survival;
    TracePage* m_trace;
    QList<QDockWidget*> m_docks;
    WindowActions* m_actions;
    QTimer m_doctorTimer;  ///< many changes of the form become one check
    QTimer m_openingTimer; ///< shows that a trace is being opened if it takes long
    DemoCatalogue m_catalogue;
    QString m_wantedModel; ///< named on the command line
    bool m_firstStart = false;
    bool m_knowsModel = false; ///< the engine has looked at a model folder
    bool m_viewsOnly = false;  ///< started on a trace: the engine waits for the first run
};

} // namespace ecokv::ui
