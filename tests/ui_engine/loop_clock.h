#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How long this thread kept the user waiting. Time in which it was ready to run but other programs
// had the cores is not counted (Linux tells it), so that a busy machine fails no test; time spent
// computing, on a lock or on a file is. GUI thread.

#include <QElapsedTimer>
#include <QEventLoop>
#include <QTimer>

#include <algorithm>
#include <fstream>

namespace ecokv::ui::test {

constexpr int kTurnMs = 5;

class Stopwatch {
public:
    void start() {
        m_starvedBefore = starvedNs();
        m_wall.start();
    }
    double elapsedMs() const {
        const qint64 starved = starvedNs() - m_starvedBefore;
        return static_cast<double>(m_wall.nsecsElapsed() - starved) * 1e-6;
    }

private:
    /// How long this thread has waited for a core so far; 0 where the kernel does not say.
    static qint64 starvedNs() {
        qint64 ran = 0, waited = 0;
        std::ifstream("/proc/thread-self/schedstat") >> ran >> waited;
        return waited;
    }

    QElapsedTimer m_wall;
    qint64 m_starvedBefore = 0;
};

/// The longest time between two turns of a 5 ms timer.
class LoopClock {
public:
    LoopClock() {
        m_timer.setTimerType(Qt::PreciseTimer);
        m_timer.setInterval(kTurnMs);
        m_timer.callOnTimeout([this] {
            m_longestMs = std::max(m_longestMs, m_sinceTurn.elapsedMs());
            m_sinceTurn.start();
        });
    }

    void start() {
        m_longestMs = 0;
        m_sinceTurn.start();
        m_timer.start();
    }
    /// The turn that has not ended yet included.
    double longestGapMs() const { return std::max(m_longestMs, m_sinceTurn.elapsedMs()); }

private:
    QTimer m_timer;
    Stopwatch m_sinceTurn;
    double m_longestMs = 0;
};

/// Turns the event loop until `condition` holds (QTest's waits sleep between turns); false when
/// that takes longer than `patienceMs`.
template <class Condition> bool turnUntil(Condition condition, int patienceMs) {
    QEventLoop loop;
    QElapsedTimer waited;
    QTimer poll;
    waited.start();
    poll.callOnTimeout([&] {
        if (condition() || waited.elapsed() > patienceMs) {
            loop.quit();
        }
    });
    poll.start(kTurnMs);
    loop.exec();
    return condition();
}

} // namespace ecokv::ui::test
