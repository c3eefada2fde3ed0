#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Builds the real language model's demo by running its script (the one place where the desktop
// starts another program, on the user's request). Leaves nothing when cancelled or failed. GUI
// thread.

#include "ui/models/demo_catalogue.h"
#include "ui/workers/job_runner.h"
#include "ui/workers/progress_meter.h"

#include <QElapsedTimer>

namespace ecokv::ui {

class DemoBuilder : public QObject {
    Q_OBJECT

public:
    explicit DemoBuilder(QObject* parent = nullptr);

    void build(const RealDemo& demo); ///< which can be built
    void cancel();                    ///< frees the window at once
    bool isBuilding() const { return m_jobs.isBusy(); }

Q_SIGNALS:
    void started();
    void progressed(const ecokv::ui::ProgressView& progress);
    void built(const QString& folder);
    void failed(const ecokv::ui::JobFailure& failure);
    void cancelled();
    void ended(); ///< built, failed or cancelled

private:
    void report(quint64 serial, const Progress& progress);

    JobRunner m_jobs;
    ProgressMeter m_meter;
    QElapsedTimer m_clock;
    quint64 m_serial = 0; ///< of the current build; reports of older ones are dropped
};

/// Runs the script to its end and returns the folder it names; its lines are JSON objects as
/// resources/demo-135m/demo_135m/reporting.py writes them. Worker.
QString runDemoScript(const RealDemo& demo, const ProgressSink& report,
                      const CancellationToken& cancel);

} // namespace ecokv::ui
