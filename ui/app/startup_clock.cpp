// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/app/startup_clock.h"

#include <QEvent>
#include <QTimer>
#include <QWidget>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

namespace ecokv::ui {

StartupClock::StartupClock(QWidget* window, bool prints)
    : QObject(window), m_window(window), m_prints(prints) {
    window->installEventFilter(this);
}

bool StartupClock::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Paint && !m_painted) {
        m_painted = true;
        QTimer::singleShot(0, this, &StartupClock::announce); // after this frame
        m_window->removeEventFilter(this);
    }
    return QObject::eventFilter(watched, event);
}

void StartupClock::announce() {
    if (m_prints) {
        const double cpuMs = 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
        std::printf("first frame after %.0f ms (%.0f ms of processor time)\n",
                    millisecondsSinceProcessStart(), cpuMs);
        std::fflush(stdout);
    }
    Q_EMIT firstFrameShown();
}

double millisecondsSinceProcessStart() {
    std::ifstream stat("/proc/self/stat");
    std::string text;
    std::getline(stat, text);
    const auto afterName = text.rfind(')'); // the name may hold blanks
    if (afterName == std::string::npos) {
        return -1.0;
    }
    std::istringstream fields(text.substr(afterName + 1));
    std::string field;
    for (int i = 0; i < 20; ++i) { // field 22 of the file: start time in clock ticks since boot
        fields >> field;
    }
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    const double nowMs =
        static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
    const double startMs = 1e3 * std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
    return nowMs - startMs;
}

} // namespace ecokv::ui
