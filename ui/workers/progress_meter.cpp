// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workers/progress_meter.h"

#include "ui/models/formatting.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>

namespace ecokv::ui {

namespace {

QString translated(const char* text) {
    return QCoreApplication::translate("ProgressMeter", text);
}

} // namespace

QString ProgressView::sentence() const {
    QStringList parts{stage};
    if (total > 0) {
        parts << translated("%1 of %2 %3").arg(done).arg(total).arg(unit);
    } else if (done > 0) {
        parts << QStringLiteral("%1 %2").arg(done).arg(unit);
    }
    if (perSecond > 0.0) {
        parts << translated("%1 %2/s").arg(formatNumber(perSecond), unit);
    }
    if (secondsLeft >= 0.5) {
        parts << translated("%1 left").arg(formatSeconds(secondsLeft));
    }
    return parts.join(QStringLiteral(" · "));
}

ProgressView ProgressMeter::update(const Progress& progress, double nowSeconds) {
    if (!m_started || progress.stage != m_stage) {
        m_started = true;
        m_stage = progress.stage;
        m_stageStart = nowSeconds;
        m_doneAtStart = progress.done;
    }
    ProgressView view;
    view.stage = QString::fromStdString(progress.stage);
    view.unit = QString::fromStdString(progress.unit);
    view.done = progress.done;
    view.total = progress.total;
    if (progress.total > 0) {
        const double share =
            static_cast<double>(progress.done) / static_cast<double>(progress.total);
        view.percent = std::clamp(static_cast<int>(100.0 * share), 0, 100);
    }
    const double elapsed = nowSeconds - m_stageStart;
    const std::int64_t progressed = progress.done - m_doneAtStart;
    if (elapsed > 0.0 && progressed > 0) {
        view.perSecond = static_cast<double>(progressed) / elapsed;
        if (progress.total > progress.done) {
            view.secondsLeft = static_cast<double>(progress.total - progress.done) / view.perSecond;
        }
    }
    return view;
}

void ProgressMeter::reset() {
    *this = {};
}

} // namespace ecokv::ui
