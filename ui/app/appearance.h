#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The look of the application: palette and style sheet, light, dark or as the system. GUI thread.

#include <QPalette>
#include <QString>

class QApplication;

namespace ecokv::ui {

enum class Appearance { System, Light, Dark };

/// Names for settings: "system", "light", "dark"; unknown text is System.
QString appearanceName(Appearance appearance);
Appearance appearanceFromName(const QString& name);

/// `system` is the palette the platform gave before anything was set.
void applyAppearance(QApplication& application, Appearance appearance, const QPalette& system);

} // namespace ecokv::ui
