// SPDX-License-Identifier: GPL-3.0-or-later
// The program itself, started without a display (field case F142).
#include "support/sample_trace.h"
#include "ui/models/paths.h"

#include <gtest/gtest.h>

#include <QFileInfo>
#include <QImage>
#include <QProcess>

#include <fstream>

namespace ecokv::ui {

namespace {

struct Outcome {
    int code = -1;
    QString out, err;
};

Outcome runProgram(const QStringList& arguments) {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) {
        environment.remove(QLatin1String(name));
    }
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(ECOKV_LENS), arguments);
    if (!process.waitForFinished(60'000)) {
        process.kill();
        process.waitForFinished();
        return {};
    }
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -2,
            QString::fromUtf8(process.readAllStandardOutput()),
            QString::fromUtf8(process.readAllStandardError())};
}

} // namespace

TEST(Program, helpAndVersionNeedNoDisplayF142) {
    const Outcome help = runProgram({u"--help"_qs});
    EXPECT_EQ(help.code, 0);
    EXPECT_TRUE(help.out.contains(u"--render"_qs));
    const Outcome version = runProgram({u"--version"_qs});
    EXPECT_EQ(version.code, 0);
    EXPECT_TRUE(version.out.startsWith(u"ecokv-lens "_qs));
}

TEST(Program, withoutADisplayTheWindowIsRefusedNotAborted) {
    const Outcome outcome = runProgram({});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(outcome.err.contains(u"no display"_qs)) << outcome.err.toStdString();
}

TEST(Program, wrongUseIsExitCode2) {
    EXPECT_EQ(runProgram({u"--no-such-option"_qs}).code, 2);
    EXPECT_EQ(runProgram({u"--render"_qs, u"r.json"_qs}).code, 2);
}

TEST(Program, rendersARecipeWithoutADisplayF142) {
    const ecokv::test::TemporaryFolder folder;
    const auto trace = ecokv::test::writeSampleTrace(folder / "sample.ecokv.h5");
    std::ofstream(folder / "recipe.json")
        << R"({"figures": [{"kind": "head-map", "file": "map.png", "metric": "redundancy"}]})";
    const Outcome outcome =
        runProgram({u"--render"_qs, fromPath(folder / "recipe.json"), u"--trace"_qs,
                    fromPath(trace), u"--out"_qs, fromPath(folder / "out")});
    EXPECT_EQ(outcome.code, 0) << outcome.err.toStdString();
    EXPECT_TRUE(QFileInfo::exists(fromPath(folder / "out" / "map.png")));
}

TEST(Program, picturesEveryPageOfATrace) {
    const ecokv::test::TemporaryFolder folder;
    const auto trace = ecokv::test::writeSampleTrace(folder / "sample.ecokv.h5");
    const QString out = fromPath(folder / "shots");
    const Outcome outcome = runProgram({u"--screenshot"_qs, out, fromPath(trace)});
    EXPECT_EQ(outcome.code, 0) << outcome.err.toStdString();
    for (const char* page : {"run", "heads", "head", "scores", "survival", "trace"}) {
        for (const char* look : {"", "-dark"}) {
            const QImage picture(
                QStringLiteral("%1/%2%3.png").arg(out, QLatin1String(page), QLatin1String(look)));
            EXPECT_EQ(picture.size(), QSize(1280, 800)) << page << look;
        }
    }
}

TEST(Program, brokenTraceIsExitCode3WithASentence) {
    const ecokv::test::TemporaryFolder folder;
    std::ofstream(folder / "broken.h5") << "no trace";
    std::ofstream(folder / "recipe.json")
        << R"({"figures": [{"kind": "head-map", "file": "map.png", "metric": "redundancy"}]})";
    const Outcome outcome =
        runProgram({u"--render"_qs, fromPath(folder / "recipe.json"), u"--trace"_qs,
                    fromPath(folder / "broken.h5"), u"--out"_qs, fromPath(folder / "out")});
    EXPECT_EQ(outcome.code, 3);
    EXPECT_TRUE(outcome.err.contains(u"broken.h5"_qs));
}

} // namespace ecokv::ui
