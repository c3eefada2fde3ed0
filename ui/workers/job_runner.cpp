// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workers/job_runner.h"

namespace ecokv::ui {

JobRunner::JobRunner(const QString& threadName, QObject* parent)
    : QObject(parent), m_worker(new QObject) {
    m_thread.setObjectName(threadName);
    m_worker->moveToThread(&m_thread);
    connect(&m_thread, &QThread::finished, m_worker, &QObject::deleteLater);
    m_thread.start();
}

JobRunner::~JobRunner() {
    m_cancel.cancel();
    m_thread.quit();
    m_thread.wait();
}

void JobRunner::start(const QString& title, Task task) {
    m_cancel.cancel();
    m_cancel = CancellationSource();
    m_title = title;
    m_busy = true;
    const quint64 serial = ++m_serial;
    QMetaObject::invokeMethod(
        m_worker,
        [this, serial, title, task = std::move(task), token = m_cancel.token()] {
            execute(serial, title, task, token);
        },
        Qt::QueuedConnection);
    Q_EMIT started(title);
}

void JobRunner::execute(quint64 serial, const QString& title, const Task& task,
                        const CancellationToken& token) {
    if (token.isCancelled()) {
        return;
    }
    try {
        Delivery delivery = task(token);
        QMetaObject::invokeMethod(
            this, [this, serial, delivery = std::move(delivery)] { settle(serial, delivery); },
            Qt::QueuedConnection);
    } catch (...) {
        const JobFailure failure = describeFailure(std::current_exception(), title);
        QMetaObject::invokeMethod(
            this, [this, serial, failure] { settleFailure(serial, failure); },
            Qt::QueuedConnection);
    }
}

void JobRunner::settle(quint64 serial, const Delivery& delivery) {
    if (!m_busy || serial != m_serial) {
        return;
    }
    m_busy = false;
    try {
        delivery();
    } catch (...) {
        Q_EMIT failed(describeFailure(std::current_exception(), m_title));
    }
    Q_EMIT finished();
}

void JobRunner::settleFailure(quint64 serial, const JobFailure& failure) {
    if (!m_busy || serial != m_serial) {
        return;
    }
    m_busy = false;
    if (failure.cancelled) {
        Q_EMIT cancelled(m_title);
    } else {
        Q_EMIT failed(failure);
    }
    Q_EMIT finished();
}

void JobRunner::cancel() {
    if (!m_busy) {
        return;
    }
    m_cancel.cancel();
    m_busy = false;
    Q_EMIT cancelled(m_title);
    Q_EMIT finished();
}

} // namespace ecokv::ui
