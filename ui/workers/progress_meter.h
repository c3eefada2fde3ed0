#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Percent, throughput and remaining time of a job, from its progress reports. A new stage starts a
// new measurement. No clock inside: the caller passes seconds, so tests need no sleep.

#include "base/progress.h"

#include <QString>

namespace ecokv::ui {

struct ProgressView {
    QString stage;
    int percent = -1;          ///< 0..100, -1 = unknown
    double perSecond = 0.0;    ///< in `unit` per second, 0 = unknown
    double secondsLeft = -1.0; ///< -1 = unknown
    QString unit;
    qint64 done = 0, total = 0;

    /// "Prefill · 3 of 6 layers · 12.0 layers/s · 1 s left"
    QString sentence() const;
};

class ProgressMeter {
public:
    ProgressView update(const Progress& progress, double nowSeconds);
    void reset();

private:
    std::string m_stage;
    double m_stageStart = 0.0;
    std::int64_t m_doneAtStart = 0;
    bool m_started = false;
};

} // namespace ecokv::ui
