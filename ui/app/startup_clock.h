#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Notices when a window was painted for the first time, so that work may begin after it, and prints
// how long that took since the process was started. GUI thread.

#include <QObject>

class QWidget;

namespace ecokv::ui {

class StartupClock : public QObject {
    Q_OBJECT

public:
    StartupClock(QWidget* window, bool prints);

    bool eventFilter(QObject* watched, QEvent* event) override;

Q_SIGNALS:
    void firstFrameShown();

private:
    void announce();

    QWidget* m_window;
    bool m_prints;
    bool m_painted = false;
};

/// Milliseconds since the kernel started this process, -1 if it does not say.
double millisecondsSinceProcessStart();

} // namespace ecokv::ui
