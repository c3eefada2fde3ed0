// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workers/run_controller.h"

#include "base/error.h"
#include "ui/models/paths.h"

#include <QDateTime>
#include <QDir>

#include <mutex>

namespace ecokv::ui {

namespace {

constexpr int kKeptTraces = 20;
constexpr qint64 kProgressEveryMs = 33;

} // namespace

/// The engine and its lock: model descriptions and runs come from two threads.
class RunController::EngineSlot {
public:
    explicit EngineSlot(EngineFactory factory) : m_factory(std::move(factory)) {}

    template <class Use> auto with(Use use) {
        const std::lock_guard lock(m_mutex);
        if (!m_engine) {
            m_engine = m_factory();
        }
        return use(*m_engine);
    }

private:
    std::mutex m_mutex;
    EngineFactory m_factory;
    std::unique_ptr<session::Engine> m_engine;
};

/// Carries what a run says from the worker to the controller's signals.
class RunController::Relay : public session::RunListener {
public:
    Relay(RunController* controller, quint64 serial) : m_controller(controller), m_serial(serial) {}

    void progress(const Progress& progress) override {
        const bool newStage = progress.stage != m_stage;
        const bool finished = progress.total > 0 && progress.done >= progress.total;
        if (!newStage && !finished && m_lastSent.isValid() &&
            m_lastSent.elapsed() < kProgressEveryMs) {
            return;
        }
        m_stage = progress.stage;
        m_lastSent.start();
        m_controller->post(m_serial, [progress](RunController& c) {
            const double now = static_cast<double>(c.m_clock.nsecsElapsed()) * 1e-9;
            Q_EMIT c.progressed(c.m_meter.update(progress, now));
        });
    }
    void text(session::Stream stream, const std::string& piece) override {
        m_controller->post(m_serial, [stream, text = QString::fromStdString(piece)](
                                         RunController& c) { Q_EMIT c.textArrived(stream, text); });
    }
    void note(const std::string& sentence) override {
        m_controller->post(m_serial, [text = QString::fromStdString(sentence)](RunController& c) {
            Q_EMIT c.noteArrived(text);
        });
    }
    void ledger(const session::Ledger& ledger) override {
        m_controller->post(m_serial,
                           [ledger](RunController& c) { Q_EMIT c.ledgerArrived(ledger); });
    }

private:
    RunController* m_controller;
    quint64 m_serial;
    std::string m_stage;
    QElapsedTimer m_lastSent;
};

RunController::RunController(EngineFactory factory, QObject* parent)
    : QObject(parent), m_engine(std::make_shared<EngineSlot>(std::move(factory))),
      m_descriptions(QStringLiteral("describe")), m_examinations(QStringLiteral("doctor")),
      m_runs(QStringLiteral("run")) {
    connect(&m_descriptions, &JobRunner::failed, this, &RunController::modelFailed);
    connect(&m_runs, &JobRunner::failed, this, &RunController::runFailed);
    connect(&m_runs, &JobRunner::cancelled, this, [this] {
        ++m_serial;
        Q_EMIT runStopped();
    });
    m_clock.start();
}

RunController::~RunController() = default;

template <class Function> void RunController::post(quint64 serial, Function function) {
    QMetaObject::invokeMethod(
        this,
        [this, serial, function = std::move(function)] {
            if (serial == m_serial) {
                function(*this);
            }
        },
        Qt::QueuedConnection);
}

void RunController::describeModel(const QString& folder) {
    struct Description {
        session::ModelSummary summary;
        session::DeviceReport devices;
    };
    m_descriptions.submit(
        tr("Looking at the model %1").arg(folder),
        [engine = m_engine, folder](const CancellationToken&) {
            return engine->with([&](session::Engine& e) {
                return Description{e.describe(toPath(folder)), e.devices()};
            });
        },
        [this](const Description& d) { Q_EMIT modelDescribed(d.summary, d.devices); });
}

void RunController::examine(const session::DoctorRequest& request) {
    m_examinations.submit(
        tr("Checking the model"),
        [engine = m_engine, request](const CancellationToken& cancel) {
            return engine->with([&](session::Engine& e) {
                cancel.throwIfCancelled("Checking the model"); // superseded while it waited
                return e.examine(request);
            });
        },
        [this](const session::DoctorReport& report) { Q_EMIT examined(report); });
}

void RunController::run(session::RunConfig config, const QString& runFolder) {
    const quint64 serial = ++m_serial;
    m_meter.reset();
    Q_EMIT runStarted(config);
    m_runs.submit(
        tr("The run"),
        [this, engine = m_engine, config = std::move(config), runFolder,
         serial](const CancellationToken& cancel) mutable {
            config.trace = toPath(newTracePath(runFolder, kKeptTraces));
            Relay relay(this, serial);
            return engine->with([&](session::Engine& e) -> RunResultPtr {
                cancel.throwIfCancelled("The run");
                return std::make_shared<const session::RunResult>(e.run(config, relay, cancel));
            });
        },
        [this](const RunResultPtr& result) { Q_EMIT runFinished(result); });
}

void RunController::stop() {
    m_runs.cancel();
}

QString newTracePath(const QString& folder, int keep) {
    QDir dir(folder);
    if (!dir.mkpath(QStringLiteral("."))) {
        throwBadInput("The folder " + folder.toStdString() + " for traces of runs cannot be made.",
                      "Check its rights and the free space of its disk.");
    }
    QStringList old = dir.entryList({QStringLiteral("run-*.ecokv.h5*")}, QDir::Files, QDir::Name);
    while (old.size() >= keep) {
        dir.remove(old.takeFirst());
    }
    const QString stamp = QDateTime::currentDateTimeUtc().toString(u"yyyyMMdd-HHmmss-zzz");
    return dir.absoluteFilePath(QStringLiteral("run-%1.ecokv.h5").arg(stamp));
}

} // namespace ecokv::ui
