// SPDX-License-Identifier: GPL-3.0-or-later
// The window needs an application object; the tests never need a display (field case F142) and
// leave the user's settings alone.
#include "ui/app/appearance.h"
#include "ui/app/guarded_application.h"

#include <gtest/gtest.h>

#include <QStandardPaths>

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QStandardPaths::setTestModeEnabled(true);
    ecokv::ui::GuardedApplication application(argc, argv);
    ecokv::ui::applyAppearance(application, ecokv::ui::Appearance::Light, {});
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
