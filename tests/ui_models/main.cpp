// SPDX-License-Identifier: GPL-3.0-or-later
// Models of the desktop need an application object; the tests never need a display (field case
// F142).
#include <gtest/gtest.h>

#include <QApplication>

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    const QApplication application(argc, argv);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
