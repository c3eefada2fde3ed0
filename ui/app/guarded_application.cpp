// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/app/guarded_application.h"

namespace ecokv::ui {

bool GuardedApplication::notify(QObject* receiver, QEvent* event) {
    try {
        return QApplication::notify(receiver, event);
    } catch (...) {
        Q_EMIT exceptionCaught(describeFailure(std::current_exception(), tr("The last action")));
        return false;
    }
}

} // namespace ecokv::ui
