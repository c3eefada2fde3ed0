// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/app/application.h"

#include "base/error.h"
#include "ui/app/command_line.h"
#include "ui/app/guarded_application.h"
#include "ui/app/main_window.h"
#include "ui/app/screenshot_tour.h"
#include "ui/app/startup_clock.h"
#include "ui/models/paths.h"
#include "ui/plots/render_recipe.h"

#include <QApplication>
#include <QIcon>
#include <QStandardPaths>

#include <clocale>
#include <cstdio>

namespace ecokv::ui {

namespace {

int exitCode(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& e) {
        std::fprintf(stderr, "%s\n", e.message().c_str());
        if (!e.advice().empty()) {
            std::fprintf(stderr, "%s\n", e.advice().c_str());
        }
        switch (e.kind()) {
        case ErrorKind::Usage:
            return 2;
        case ErrorKind::BadInput:
            return 3;
        case ErrorKind::Cancelled:
            return 4;
        case ErrorKind::Internal:
            break;
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "A bug in EcoKV Lens: %s\n", e.what());
    } catch (...) {
        std::fprintf(stderr, "A bug in EcoKV Lens: unknown exception\n");
    }
    return 1;
}

int render(const CommandLine& commandLine) {
    RenderRequest request;
    request.recipe = toPath(commandLine.recipe);
    request.trace = toPath(commandLine.trace);
    request.out = toPath(commandLine.outFolder);
    request.leftOut = [](const std::string& sentence) {
        std::fprintf(stderr, "%s\n", sentence.c_str());
    };
    for (const std::filesystem::path& file : renderRecipe(request)) {
        std::printf("%s\n", fromPath(file).toUtf8().constData());
    }
    return 0;
}

WorkbenchOptions workbenchOptions(const CommandLine& commandLine) {
    WorkbenchOptions options;
    options.engine = [hint = toPath(commandLine.engine)] { return session::loadEngine(hint); };
    options.resources = findResources(resourceCandidates(QCoreApplication::applicationDirPath()));
    const QString cache = QStandardPaths::writableLocation(QStandardPaths::CacheLocation);
    options.runFolder = cache + QStringLiteral("/runs");
    return options;
}

int showWindow(GuardedApplication& application, const CommandLine& commandLine) {
    const QPalette system = QApplication::palette();
    Workbench bench(workbenchOptions(commandLine));
    applyAppearance(
        application,
        appearanceFromName(bench.settings()->value(QStringLiteral("window/appearance"), {})),
        system);
    MainWindow window(&bench);
    QObject::connect(&window, &MainWindow::appearanceRequested, &window,
                     [&application, system](Appearance appearance) {
                         applyAppearance(application, appearance, system);
                     });
    QObject::connect(&application, &GuardedApplication::exceptionCaught, &window,
                     &MainWindow::announce);
    StartupClock clock(&window, commandLine.startupTime);
    QObject::connect(&clock, &StartupClock::firstFrameShown, &window,
                     [&] { window.start(commandLine.paths); });
    window.show();
    return QApplication::exec();
}

int takeScreenshots(QApplication& application, const CommandLine& commandLine) {
    QStandardPaths::setTestModeEnabled(true); // leave the user's settings and runs alone
    const ScreenshotOptions options{commandLine.outFolder, commandLine.paths};
    return runScreenshotTour(application, workbenchOptions(commandLine), options);
}

int runWithWidgets(int& argc, char** argv, const CommandLine& commandLine) {
    GuardedApplication application(argc, argv);
    std::setlocale(LC_NUMERIC, "C"); // Qt took the user's; files are locale-free (F155)
    QGuiApplication::setDesktopFileName(QStringLiteral("ecokv-lens"));
    QApplication::setWindowIcon(QIcon(QStringLiteral(":/icons/ecokv-lens.svg")));
    switch (commandLine.task) {
    case CommandLine::Task::Render:
        return render(commandLine);
    case CommandLine::Task::Screenshots:
        return takeScreenshots(application, commandLine);
    default:
        return showWindow(application, commandLine);
    }
}

QStringList utf8Arguments(int argc, char** argv) {
    QStringList arguments;
    for (int i = 1; i < argc; ++i) {
        arguments << QString::fromLocal8Bit(argv[i]);
    }
    return arguments;
}

} // namespace

int runApplication(int argc, char** argv) {
    QCoreApplication::setOrganizationName(QStringLiteral("ecokv-lens"));
    QCoreApplication::setApplicationName(QStringLiteral("ecokv-lens"));
    QCoreApplication::setApplicationVersion(QStringLiteral(ECOKV_VERSION));
    const CommandLine commandLine = parseCommandLine(utf8Arguments(argc, argv));
    switch (commandLine.task) {
    case CommandLine::Task::Wrong:
        std::fprintf(stderr, "%s\nSee ecokv-lens --help.\n",
                     commandLine.problem.toUtf8().constData());
        return 2;
    case CommandLine::Task::Help:
    case CommandLine::Task::HelpAll:
        std::fputs(helpText(commandLine.task == CommandLine::Task::HelpAll).toUtf8().constData(),
                   stdout);
        return 0;
    case CommandLine::Task::Version:
        std::fputs(versionText().toUtf8().constData(), stdout);
        return 0;
    default:
        break;
    }
    const bool hasDisplay =
        qEnvironmentVariableIsSet("DISPLAY") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY");
    const bool chosen = qEnvironmentVariableIsSet("QT_QPA_PLATFORM");
    const bool drawsOnly = drawsWithoutDisplay(commandLine);
    if (!hasDisplay && !chosen && !drawsOnly) {
        std::fprintf(stderr, "There is no display to open a window on. Use ecokv-lens --render to "
                             "draw figures, or ecokv for everything else.\n");
        return 2;
    }
    if (drawsOnly) {
        qputenv("QT_QPA_PLATFORM", "offscreen");
    }
    try {
        return runWithWidgets(argc, argv, commandLine);
    } catch (...) {
        return exitCode(std::current_exception());
    }
}

} // namespace ecokv::ui
