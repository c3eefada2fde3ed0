// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/app/appearance.h"

#include "ui/plots/theme.h"

#include <QApplication>
#include <QStyleFactory>

namespace ecokv::ui {

namespace {

/// Roles of widgets are set as the dynamic property "role"; %names are replaced by theme colours.
const char* const kStyleSheet = R"(
QToolTip { color: %text; background: %panel; border: 1px solid %line; padding: 4px; }
QLabel[role="muted"] { color: %muted; }
QLabel[role="strong"] { font-weight: 600; }
QLabel[role="section"] { font-weight: 600; }
QLabel[role="heading"] { font-size: 17px; font-weight: 600; }
QLabel[role="number"] { font-size: 17px; font-weight: 600; }
QLabel[role="badge"] { color: %text; border: 1px solid %accent; border-radius: 4px;
                       padding: 1px 7px; font-weight: 600; }
QLabel[role="badgeWarn"] { color: %text; border: 1px dashed %warn; border-radius: 4px;
                           padding: 1px 7px; font-weight: 600; }
QLabel[role="warning"] { color: %text; background: %warnSoft; border-radius: 4px; padding: 6px; }
QFrame[role="card"] { background: %panel; border: 1px solid %line; border-radius: 6px; }
QFrame[role="tile"] { background: %panel; border: 1px solid %line; border-radius: 6px; }
QFrame[role="footer"] { border: 0; border-top: 1px solid %line; }
QTextEdit[role="answer"] { background: transparent; font-size: 17px; }
QPlainTextEdit[role="log"] { background: transparent; font-family: monospace; }
QFrame#errorBar { background: %warnSoft; border: 0; border-bottom: 1px solid %warn; }
QPushButton#runButton { background: %accent; color: %onAccent; border: 1px solid %accent;
                        border-radius: 4px; padding: 5px 14px; font-weight: 600; }
QPushButton#runButton:hover { background: %accentHover; }
QPushButton#runButton:focus { border: 2px solid %text; padding: 4px 13px; }
QPushButton#runButton:disabled { background: %line; color: %muted; border-color: %line; }
QDockWidget { font-weight: 600; }
QDockWidget > QWidget { font-weight: 400; }
QDockWidget::title { background: %window; padding: 5px 8px; border-bottom: 1px solid %line; }
QTabWidget::pane { border: 0; }
QTabBar { qproperty-drawBase: 0; }
QTabBar::tab { padding: 6px 14px; color: %muted; background: transparent; border: 0;
               border-bottom: 2px solid transparent; }
QTabBar::tab:selected { color: %text; border-bottom: 2px solid %accent; font-weight: 600; }
QTabBar::tab:hover { color: %text; }
QTabBar::tab:focus { color: %text; border-bottom: 2px dashed %accent; }
QHeaderView::section { background: %window; color: %muted; border: 0;
                       border-bottom: 1px solid %line; padding: 4px 8px; }
QTableCornerButton::section { background: %window; border: 0;
                              border-bottom: 1px solid %line; }
QTableView, QTreeView, QListView, QPlainTextEdit { border: 1px solid %line; border-radius: 4px; }
QMainWindow::separator { background: %line; width: 1px; height: 1px; }
QProgressBar { border: 1px solid %line; border-radius: 4px; background: %window; height: 12px;
               text-align: center; }
QProgressBar::chunk { background: %accent; border-radius: 3px; }
)";

QColor mixed(const QColor& a, const QColor& b, double share) {
    const auto channel = [share](int x, int y) {
        return static_cast<int>(x * (1.0 - share) + y * share);
    };
    return QColor(channel(a.red(), b.red()), channel(a.green(), b.green()),
                  channel(a.blue(), b.blue()));
}

QString styleSheet(const Theme& theme, const QPalette& palette) {
    const QColor window = palette.color(QPalette::Window);
    const QColor warn(theme.dark ? "#e0a040" : "#b36b00");
    const struct {
        const char* name;
        QColor color;
    } colors[] = {
        {"%accentHover", mixed(theme.accent, theme.text, 0.15)},
        {"%accent", theme.accent},
        {"%onAccent", palette.color(QPalette::HighlightedText)},
        {"%warnSoft", mixed(window, warn, 0.18)},
        {"%warn", warn},
        {"%window", window},
        {"%panel", palette.color(QPalette::Base)},
        {"%text", theme.text},
        {"%muted", theme.mutedText},
        {"%line", mixed(window, theme.text, 0.18)},
    };
    QString sheet = QString::fromLatin1(kStyleSheet);
    for (const auto& [name, color] : colors) {
        sheet.replace(QLatin1String(name), color.name());
    }
    return sheet;
}

} // namespace

QString appearanceName(Appearance appearance) {
    switch (appearance) {
    case Appearance::Light:
        return QStringLiteral("light");
    case Appearance::Dark:
        return QStringLiteral("dark");
    case Appearance::System:
        break;
    }
    return QStringLiteral("system");
}

Appearance appearanceFromName(const QString& name) {
    for (const Appearance appearance : {Appearance::Light, Appearance::Dark}) {
        if (name == appearanceName(appearance)) {
            return appearance;
        }
    }
    return Appearance::System;
}

void applyAppearance(QApplication& application, Appearance appearance, const QPalette& system) {
    const Theme theme = appearance == Appearance::Light  ? Theme::light()
                        : appearance == Appearance::Dark ? Theme::night()
                                                         : Theme::forPalette(system);
    const QPalette palette = theme.applicationPalette();
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    QApplication::setPalette(palette);
    application.setStyleSheet(styleSheet(theme, palette));
}

} // namespace ecokv::ui
