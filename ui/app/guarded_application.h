#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The last net: an exception that leaves a slot becomes a failure to show instead of the end of the
// program (field case F157). GUI thread.

#include "ui/workers/job_failure.h"

#include <QApplication>

namespace ecokv::ui {

class GuardedApplication : public QApplication {
    Q_OBJECT

public:
    using QApplication::QApplication;

    bool notify(QObject* receiver, QEvent* event) override;

Q_SIGNALS:
    void exceptionCaught(const ecokv::ui::JobFailure& failure);
};

} // namespace ecokv::ui
