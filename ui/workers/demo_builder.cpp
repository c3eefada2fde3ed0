// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workers/demo_builder.h"

#include "base/error.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>

namespace ecokv::ui {

namespace {

constexpr int kLookEveryMs = 40;  // so that cancelling is quick
constexpr int kWindDownMs = 3000; // the script removes what it began
constexpr double kMegabyte = 1e6;
const char* const kByHand = "Run ./run --demo 135m in a terminal to see more.";

/// The last words of a build.
struct Outcome {
    QString folder;
    QString error, advice;
};

Progress progressOf(const QJsonObject& line) {
    Progress progress;
    progress.stage = line.value(QLatin1String("stage")).toString().toStdString();
    progress.unit = line.value(QLatin1String("unit")).toString().toStdString();
    const bool bytes = progress.unit == "bytes";
    const double scale = bytes ? kMegabyte : 1.0;
    progress.done = qRound64(line.value(QLatin1String("done")).toDouble() / scale);
    progress.total = qRound64(line.value(QLatin1String("total")).toDouble() / scale);
    if (bytes) {
        progress.unit = "MB";
    }
    return progress;
}

void readLine(const QByteArray& text, const ProgressSink& report, Outcome& outcome) {
    const QJsonObject line = QJsonDocument::fromJson(text).object();
    if (line.contains(QLatin1String("stage"))) {
        report(progressOf(line));
    } else if (line.contains(QLatin1String("folder"))) {
        outcome.folder = line.value(QLatin1String("folder")).toString();
    } else if (line.contains(QLatin1String("error"))) {
        outcome.error = line.value(QLatin1String("error")).toString();
        outcome.advice = line.value(QLatin1String("advice")).toString();
    }
}

void stop(QProcess& process) {
    process.terminate();
    if (!process.waitForFinished(kWindDownMs)) {
        process.kill();
        process.waitForFinished(kWindDownMs);
    }
}

[[noreturn]] void throwUnexpectedEnd(QProcess& process) {
    const QByteArray said = process.readAllStandardError().trimmed();
    const QByteArray last = said.mid(said.lastIndexOf('\n') + 1);
    throwBadInput("The script that builds the 135M demo ended unexpectedly" +
                      (last.isEmpty() ? std::string(".") : ": " + last.toStdString()),
                  kByHand);
}

} // namespace

QString runDemoScript(const RealDemo& demo, const ProgressSink& report,
                      const CancellationToken& cancel) {
    QProcess process;
    process.start(demo.python, {demo.script, QStringLiteral("135m"), QStringLiteral("--json"),
                                QStringLiteral("--folder"), demo.folder});
    if (!process.waitForStarted()) {
        throwBadInput("The script that builds the 135M demo cannot be started with " +
                          demo.python.toStdString() + ": " + process.errorString().toStdString() +
                          ".",
                      "Run ./run in the source folder; it sets up .venv.");
    }
    Outcome outcome;
    while (process.state() != QProcess::NotRunning || process.canReadLine()) {
        if (cancel.isCancelled()) {
            stop(process);
            cancel.throwIfCancelled("Building the demo");
        }
        if (!process.canReadLine()) {
            process.waitForReadyRead(kLookEveryMs);
        }
        while (process.canReadLine()) {
            readLine(process.readLine(), report, outcome);
        }
    }
    if (!outcome.error.isEmpty()) {
        throwBadInput(outcome.error.toStdString(), outcome.advice.toStdString());
    }
    if (outcome.folder.isEmpty()) {
        throwUnexpectedEnd(process);
    }
    return outcome.folder;
}

DemoBuilder::DemoBuilder(QObject* parent) : QObject(parent), m_jobs(QStringLiteral("build demo")) {
    connect(&m_jobs, &JobRunner::failed, this, &DemoBuilder::failed);
    connect(&m_jobs, &JobRunner::cancelled, this, &DemoBuilder::cancelled);
    connect(&m_jobs, &JobRunner::finished, this, &DemoBuilder::ended);
    m_clock.start();
}

void DemoBuilder::build(const RealDemo& demo) {
    const quint64 serial = ++m_serial;
    m_meter.reset();
    m_jobs.submit(
        tr("Building the 135M demo"),
        [this, demo, serial](const CancellationToken& cancel) {
            const auto send = [this, serial](const Progress& progress) {
                QMetaObject::invokeMethod(
                    this, [this, serial, progress] { report(serial, progress); },
                    Qt::QueuedConnection);
            };
            return runDemoScript(demo, send, cancel);
        },
        [this](const QString& folder) { Q_EMIT built(folder); });
    Q_EMIT started();
}

void DemoBuilder::cancel() {
    m_jobs.cancel();
}

void DemoBuilder::report(quint64 serial, const Progress& progress) {
    if (serial == m_serial && m_jobs.isBusy()) {
        const double now = static_cast<double>(m_clock.nsecsElapsed()) * 1e-9;
        Q_EMIT progressed(m_meter.update(progress, now));
    }
}

} // namespace ecokv::ui
