#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the user asked for on the command line, as a value; needs no application object, so that it
// can decide which one to make (field case F142).

#include <QString>
#include <QStringList>

namespace ecokv::ui {

struct CommandLine {
    enum class Task { Window, Render, Screenshots, Help, HelpAll, Version, Wrong };

    Task task = Task::Window;
    QStringList paths; ///< a trace, a model folder or pictures to open
    QString recipe;    ///< --render
    QString trace;     ///< --trace
    QString outFolder; ///< --out, or the folder of --screenshot
    QString engine;    ///< --engine: another engine library
    bool startupTime = false;
    QString problem; ///< with Wrong: a sentence
};

/// `arguments` without the program's name.
CommandLine parseCommandLine(const QStringList& arguments);
QString helpText(bool all);
QString versionText();

/// True if this task draws pictures and needs no display: use the offscreen platform.
bool drawsWithoutDisplay(const CommandLine& commandLine);

} // namespace ecokv::ui
