#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Why a job failed, as sentences for people. Made at the task border, where every exception ends
// (field case F157).

#include <QMetaType>
#include <QString>

#include <exception>

namespace ecokv::ui {

struct JobFailure {
    QString message;        ///< one sentence: what was tried and what went wrong
    QString advice;         ///< what to do, may be empty
    QString details;        ///< for the clipboard: job, kind, message, advice
    bool cancelled = false; ///< the job stopped because it was asked to
};

/// Turns any exception into sentences. `title` names the job ("Opening receipt.ecokv.h5").
JobFailure describeFailure(const std::exception_ptr& error, const QString& title);

} // namespace ecokv::ui

Q_DECLARE_METATYPE(ecokv::ui::JobFailure)
