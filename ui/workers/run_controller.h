#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Describes models and runs prompts through the engine, on workers; streams what the run says and
// ends it within 100 ms of stop(). The engine is created by the first use, never before.
// GUI thread.

#include "session/engine.h"
#include "ui/workers/job_runner.h"
#include "ui/workers/progress_meter.h"

#include <QElapsedTimer>

#include <functional>
#include <memory>

namespace ecokv::ui {

using EngineFactory = std::function<std::unique_ptr<session::Engine>()>;
using RunResultPtr = std::shared_ptr<const session::RunResult>;

class RunController : public QObject {
    Q_OBJECT

public:
    explicit RunController(EngineFactory factory, QObject* parent = nullptr);
    ~RunController() override;

    void describeModel(const QString& folder);
    /// Checks model and prompt of a run; a newer request supersedes an older one.
    void examine(const session::DoctorRequest& request);
    /// `runFolder`: where the trace goes, under a new name each time (field case F140).
    void run(session::RunConfig config, const QString& runFolder);
    void stop();
    bool isRunning() const { return m_runs.isBusy(); }

Q_SIGNALS:
    void modelDescribed(const ecokv::session::ModelSummary& summary,
                        const ecokv::session::DeviceReport& devices);
    void modelFailed(const ecokv::ui::JobFailure& failure);
    void examined(const ecokv::session::DoctorReport& report);
    void runStarted(const ecokv::session::RunConfig& config);
    void progressed(const ecokv::ui::ProgressView& progress);
    void textArrived(ecokv::session::Stream stream, const QString& piece);
    void noteArrived(const QString& sentence);
    void ledgerArrived(const ecokv::session::Ledger& ledger);
    void runFinished(const ecokv::ui::RunResultPtr& result);
    void runStopped();
    void runFailed(const ecokv::ui::JobFailure& failure);

private:
    class EngineSlot;
    class Relay;

    template <class Function> void post(quint64 serial, Function function);

    std::shared_ptr<EngineSlot> m_engine;
    JobRunner m_descriptions;
    JobRunner m_examinations;
    JobRunner m_runs;
    ProgressMeter m_meter;
    QElapsedTimer m_clock;
    quint64 m_serial = 0; ///< of the current run; messages of older ones are dropped
};

/// Makes the folder, removes the oldest traces beyond `keep` and returns a new name
/// "run-20260131-101500-123.ecokv.h5". Worker.
QString newTracePath(const QString& folder, int keep);

} // namespace ecokv::ui
