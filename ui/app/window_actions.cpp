// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/app/window_actions.h"

#include "ui/app/main_window.h"
#include "ui/pages/run_panel.h"

#include <QAction>
#include <QActionGroup>
#include <QDockWidget>
#include <QMenuBar>
#include <QMessageBox>

namespace ecokv::ui {

WindowActions::WindowActions(MainWindow* window) : QObject(window), m_window(window) {
    makeFileMenu();
    makeRunMenu();
    makeViewMenu();
    makeHelpMenu();
    setTraceOpen(false);
    connect(window->m_bench, &Workbench::recentChanged, this, &WindowActions::fillRecent);
    fillRecent();
}

void WindowActions::setTraceOpen(bool open) {
    m_save->setEnabled(open);
}

QAction* WindowActions::add(QMenu* menu, const QString& text, const QKeySequence& key,
                            const std::function<void()>& act) {
    QAction* action = menu->addAction(text);
    action->setShortcut(key);
    connect(action, &QAction::triggered, this, [act] { act(); });
    return action;
}

void WindowActions::makeFileMenu() {
    QMenu* menu = m_window->menuBar()->addMenu(tr("&File"));
    add(menu, tr("&Open trace…"), QKeySequence::Open, [this] { m_window->chooseTrace(); });
    add(menu, tr("Open &model…"), QKeySequence(tr("Ctrl+M")),
        [this] { m_window->runPanel()->chooseModel(); });
    add(menu, tr("Add &pictures…"), QKeySequence(tr("Ctrl+P")),
        [this] { m_window->runPanel()->choosePictures(); });
    m_recent = menu->addMenu(tr("&Recent"));
    menu->addSeparator();
    m_save =
        add(menu, tr("&Save trace as…"), QKeySequence::SaveAs, [this] { m_window->saveTraceAs(); });
    menu->addSeparator();
    add(menu, tr("&Quit"), QKeySequence::Quit, [this] { m_window->close(); });
}

void WindowActions::makeRunMenu() {
    QMenu* menu = m_window->menuBar()->addMenu(tr("&Run"));
    add(menu, tr("&Run"), QKeySequence(tr("Ctrl+R")), [this] { m_window->requestRun(); });
    add(menu, tr("&Stop"), QKeySequence(Qt::Key_Escape), [this] { m_window->requestStop(); });
}

void WindowActions::makeViewMenu() {
    QMenu* menu = m_window->menuBar()->addMenu(tr("&View"));
    addPages(menu);
    menu->addSeparator();
    addHeadSteps(menu);
    menu->addSeparator();
    for (QDockWidget* dock : std::as_const(m_window->m_docks)) {
        menu->addAction(dock->toggleViewAction());
    }
    add(menu, tr("&Reset layout"), {}, [this] { m_window->resetLayout(); });
    menu->addSeparator();
    addAppearances(menu->addMenu(tr("&Appearance")));
}

void WindowActions::addPages(QMenu* menu) {
    const QString names[] = {tr("Run page"), tr("Heads"), tr("Head"), tr("Survival"), tr("Trace")};
    for (int page = 0; page < int(std::size(names)); ++page) {
        add(menu, names[page], QKeySequence(QStringLiteral("Ctrl+%1").arg(page + 1)),
            [this, page] { m_window->showPage(static_cast<MainWindow::Page>(page)); });
    }
}

void WindowActions::addHeadSteps(QMenu* menu) {
    AppState* state = m_window->m_bench->state();
    add(menu, tr("Previous layer"), QKeySequence(tr("Alt+Up")), [state] { state->stepLayer(-1); });
    add(menu, tr("Next layer"), QKeySequence(tr("Alt+Down")), [state] { state->stepLayer(1); });
    add(menu, tr("Previous KV head"), QKeySequence(tr("Alt+Left")),
        [state] { state->stepHead(-1); });
    add(menu, tr("Next KV head"), QKeySequence(tr("Alt+Right")), [state] { state->stepHead(1); });
}

void WindowActions::addAppearances(QMenu* menu) {
    auto* group = new QActionGroup(this);
    const struct {
        Appearance appearance;
        QString name;
    } choices[] = {{Appearance::System, tr("As the &system")},
                   {Appearance::Light, tr("&Light")},
                   {Appearance::Dark, tr("&Dark")}};
    const QString current = m_window->m_bench->settings()->value(
        QStringLiteral("window/appearance"), appearanceName(Appearance::System));
    for (const auto& [appearance, name] : choices) {
        QAction* action = add(menu, name, {}, [this, appearance = appearance] {
            m_window->m_bench->settings()->setValue(QStringLiteral("window/appearance"),
                                                    appearanceName(appearance));
            m_window->m_bench->saveSoon();
            Q_EMIT m_window->appearanceRequested(appearance);
        });
        action->setCheckable(true);
        action->setChecked(appearanceName(appearance) == current);
        group->addAction(action);
    }
}

void WindowActions::makeHelpMenu() {
    QMenu* menu = m_window->menuBar()->addMenu(tr("&Help"));
    add(menu, tr("&About EcoKV Lens"), {}, [this] { showAbout(); });
}

void WindowActions::fillRecent() {
    m_recent->clear();
    addRecentEntries(tr("Traces"), QStringLiteral("traces"));
    addRecentEntries(tr("Models"), QStringLiteral("models"));
    m_recent->setEnabled(!m_recent->isEmpty());
}

void WindowActions::addRecentEntries(const QString& heading, const QString& kind) {
    const QStringList paths = m_window->m_bench->settings()->recent(kind);
    if (!paths.isEmpty()) {
        m_recent->addSection(heading);
    }
    for (const QString& path : paths) {
        add(m_recent, path, {}, [this, path] { m_window->m_bench->openPath(path); });
    }
}

void WindowActions::showAbout() {
    QMessageBox::about(
        m_window, tr("About EcoKV Lens"),
        tr("<b>EcoKV Lens %1</b><p>See which image patches and words a KV cache policy keeps, per "
           "layer and head, and what it costs the answer.</p><p>GPL-3.0-or-later. Nothing leaves "
           "this machine.</p>")
            .arg(QStringLiteral(ECOKV_VERSION)));
}

} // namespace ecokv::ui
