#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One worker thread for one kind of job. A newer job supersedes an older one; a result arrives
// whole, on the thread that owns the runner, or not at all; cancel() frees the owner at once while
// the worker winds down behind it. All calls and signals: owner's thread.

#include "base/cancellation.h"
#include "ui/workers/job_failure.h"

#include <QObject>
#include <QThread>

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace ecokv::ui {

class JobRunner : public QObject {
    Q_OBJECT

public:
    using Delivery = std::function<void()>;
    using Task = std::function<Delivery(const CancellationToken&)>;

    explicit JobRunner(const QString& threadName, QObject* parent = nullptr);
    ~JobRunner() override;

    /// Runs `work(token)` on the worker and hands its value to `done(value)` here, unless a newer
    /// job or cancel() came in between. Whatever `work` throws becomes one failed().
    template <class Work, class Done> void submit(const QString& title, Work work, Done done) {
        using Result = std::decay_t<std::invoke_result_t<Work&, const CancellationToken&>>;
        start(title,
              [work = std::move(work),
               done = std::move(done)](const CancellationToken& cancel) mutable -> Delivery {
                  auto result = std::make_shared<Result>(work(cancel));
                  return [done = std::move(done), result] { done(std::move(*result)); };
              });
    }

    /// Stops the current job: its token is cancelled and nothing of it arrives any more.
    void cancel();
    bool isBusy() const { return m_busy; }
    QString title() const { return m_title; }

Q_SIGNALS:
    void started(const QString& title);
    void failed(const ecokv::ui::JobFailure& failure);
    void cancelled(const QString& title);
    void finished(); ///< after delivery, failure or cancel of the current job

private:
    void start(const QString& title, Task task);
    void execute(quint64 serial, const QString& title, const Task& task,
                 const CancellationToken& token);
    void settle(quint64 serial, const Delivery& delivery);
    void settleFailure(quint64 serial, const JobFailure& failure);

    QThread m_thread;
    QObject* m_worker; ///< lives in m_thread and is deleted when it ends
    CancellationSource m_cancel;
    QString m_title;
    quint64 m_serial = 0;
    bool m_busy = false;
};

} // namespace ecokv::ui
