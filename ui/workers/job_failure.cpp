// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workers/job_failure.h"

#include "base/error.h"

#include <QCoreApplication>

#include <new>

namespace ecokv::ui {

namespace {

QString translated(const char* text) {
    return QCoreApplication::translate("JobFailure", text);
}

QString kindName(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::Usage:
        return translated("impossible settings");
    case ErrorKind::BadInput:
        return translated("unusable file or prompt");
    case ErrorKind::Cancelled:
        return translated("stopped");
    case ErrorKind::Internal:
        break;
    }
    return translated("a bug in EcoKV Lens");
}

JobFailure compose(const QString& title, const QString& kind, const QString& message,
                   const QString& advice) {
    JobFailure failure{message, advice, {}, false};
    failure.details = translated("%1 failed (%2).\n%3").arg(title, kind, message);
    if (!advice.isEmpty()) {
        failure.details += u'\n' + advice;
    }
    return failure;
}

} // namespace

JobFailure describeFailure(const std::exception_ptr& error, const QString& title) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& e) {
        JobFailure failure = compose(title, kindName(e.kind()), QString::fromStdString(e.message()),
                                     QString::fromStdString(e.advice()));
        failure.cancelled = e.kind() == ErrorKind::Cancelled;
        return failure;
    } catch (const std::bad_alloc&) {
        return compose(title, translated("out of memory"),
                       translated("There is not enough memory for this."),
                       translated("Close other programs, or use a smaller model or prompt."));
    } catch (const std::exception& e) {
        return compose(title, kindName(ErrorKind::Internal),
                       translated("%1 failed: %2").arg(title, QString::fromUtf8(e.what())),
                       translated("Please report this with the details."));
    } catch (...) {
        return compose(title, kindName(ErrorKind::Internal),
                       translated("%1 failed for an unknown reason.").arg(title),
                       translated("Please report what you did before it happened."));
    }
}

} // namespace ecokv::ui
