// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/app/command_line.h"

#include <QCommandLineOption>
#include <QCoreApplication>

#include <QCommandLineParser>

namespace ecokv::ui {

namespace {

QString translated(const char* text) {
    return QCoreApplication::translate("CommandLine", text);
}

CommandLine wrong(const QString& problem) {
    CommandLine result;
    result.task = CommandLine::Task::Wrong;
    result.problem = problem;
    return result;
}

struct Options {
    QCommandLineOption help{{QStringLiteral("h"), QStringLiteral("help")}};
    QCommandLineOption helpAll{QStringLiteral("help-all")};
    QCommandLineOption version{{QStringLiteral("v"), QStringLiteral("version")}};
    QCommandLineOption render{QStringLiteral("render"), {}, QStringLiteral("RECIPE")};
    QCommandLineOption trace{QStringLiteral("trace"), {}, QStringLiteral("FILE")};
    QCommandLineOption out{QStringLiteral("out"), {}, QStringLiteral("DIR")};
    QCommandLineOption screenshot{QStringLiteral("screenshot"), {}, QStringLiteral("DIR")};
    QCommandLineOption engine{QStringLiteral("engine"), {}, QStringLiteral("FILE")};
    QCommandLineOption startupTime{QStringLiteral("startup-time")};

    QList<QCommandLineOption> all() const {
        return {help, helpAll, version, render, trace, out, screenshot, engine, startupTime};
    }
};

CommandLine::Task taskOf(const QCommandLineParser& parser, const Options& options) {
    if (parser.isSet(options.help)) {
        return CommandLine::Task::Help;
    }
    if (parser.isSet(options.helpAll)) {
        return CommandLine::Task::HelpAll;
    }
    if (parser.isSet(options.version)) {
        return CommandLine::Task::Version;
    }
    if (parser.isSet(options.render)) {
        return CommandLine::Task::Render;
    }
    return parser.isSet(options.screenshot) ? CommandLine::Task::Screenshots
                                            : CommandLine::Task::Window;
}

} // namespace

CommandLine parseCommandLine(const QStringList& arguments) {
    const Options options;
    QCommandLineParser parser;
    parser.addOptions(options.all());
    if (!parser.parse(QStringList{QStringLiteral("ecokv-lens")} + arguments)) {
        return wrong(parser.errorText());
    }
    CommandLine result;
    result.task = taskOf(parser, options);
    result.paths = parser.positionalArguments();
    result.recipe = parser.value(options.render);
    result.trace = parser.value(options.trace);
    result.engine = parser.value(options.engine);
    result.startupTime = parser.isSet(options.startupTime);
    const bool screenshots = result.task == CommandLine::Task::Screenshots;
    result.outFolder = parser.value(screenshots ? options.screenshot : options.out);
    if (result.task == CommandLine::Task::Render && result.outFolder.isEmpty()) {
        return wrong(translated("--render needs --out DIR, the folder for the figures."));
    }
    return result;
}

QString helpText(bool all) {
    QString text = translated(
        "Usage: ecokv-lens [FILE.ecokv.h5 | MODEL_FOLDER | PICTURE...]\n"
        "       ecokv-lens --render RECIPE.json --out DIR [--trace FILE]\n"
        "\n"
        "See which image patches and words a KV cache policy keeps.\n"
        "Without arguments the window opens where it was left, the first time on the demo model.\n"
        "\n"
        "Options:\n"
        "  --render RECIPE  draw the figures a JSON recipe names; needs no display\n"
        "  --out DIR        folder for the figures of --render\n"
        "  --trace FILE     trace to draw, instead of the one the recipe names\n"
        "  -h, --help       this text\n"
        "  --help-all       this text and the options for developers\n"
        "  -v, --version    the version\n"
        "\n"
        "Examples:\n"
        "  ecokv-lens receipt.ecokv.h5\n"
        "  ecokv-lens ~/models/llava-1.5-7b-hf\n"
        "  ecokv-lens --render figures.json --trace receipt.ecokv.h5 --out figures\n");
    if (all) {
        text += translated(
            "\n"
            "For developers:\n"
            "  --screenshot DIR run the demo (or show the given trace) and save a picture of "
            "every\n"
            "                   page, 1280 x 800, light and dark; needs no display\n"
            "  --startup-time   print when the first frame was on screen, then go on\n"
            "  --engine FILE    load this engine library instead of the one beside the program\n");
    }
    return text;
}

QString versionText() {
    return QStringLiteral("ecokv-lens " ECOKV_VERSION "\n");
}

bool drawsWithoutDisplay(const CommandLine& commandLine) {
    return commandLine.task == CommandLine::Task::Render ||
           commandLine.task == CommandLine::Task::Screenshots;
}

} // namespace ecokv::ui
