#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Menus and keyboard shortcuts of the window. GUI thread.

#include <QKeySequence>
#include <QObject>

#include <functional>

class QAction;
class QMenu;

namespace ecokv::ui {

class MainWindow;

class WindowActions : public QObject {
    Q_OBJECT

public:
    explicit WindowActions(MainWindow* window);

    void setTraceOpen(bool open);

private:
    QAction* add(QMenu* menu, const QString& text, const QKeySequence& key,
                 const std::function<void()>& act);
    void makeFileMenu();
    void makeRunMenu();
    void makeViewMenu();
    void addPages(QMenu* menu);
    void addHeadSteps(QMenu* menu);
    void addAppearances(QMenu* menu);
    void makeHelpMenu();
    void fillRecent();
    void addRecentEntries(const QString& heading, const QString& kind);
    void showAbout();

    MainWindow* m_window;
    QAction* m_save = nullptr;
    QMenu* m_recent = nullptr;
};

} // namespace ecokv::ui
