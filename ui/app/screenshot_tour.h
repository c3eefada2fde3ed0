#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// For the README and for looking at one's own work: shows the window on a real run of the demo (or
// on a given trace), and saves a picture of each page, light and dark.

#include "ui/app/workbench.h"

#include <QStringList>

class QApplication;

namespace ecokv::ui {

struct ScreenshotOptions {
    QString folder;
    QStringList paths; ///< a trace to show instead of a run
};

/// Returns an exit code. Takes the event loop until the pictures are saved.
int runScreenshotTour(QApplication& application, const WorkbenchOptions& bench,
                      const ScreenshotOptions& options);

} // namespace ecokv::ui
