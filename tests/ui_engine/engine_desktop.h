#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The main window as the program makes it, engine and demo files included, on its first start:
// settings and runs are in an empty folder. Right answers come from documents.json as it is.

#include "session/engine.h"
#include "support/sample_trace.h"
#include "ui/app/main_window.h"
#include "ui/app/startup_clock.h"
#include "ui/models/demo_catalogue.h"
#include "ui/models/paths.h"
#include "ui/pages/answers_page.h"
#include "ui/pages/error_bar.h"
#include "ui/pages/run_panel.h"
#include "ui_engine/loop_clock.h"

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPushButton>
#include <QTest>

#include <memory>

namespace ecokv::ui::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kSlowness = 10; // what sanitizers cost at worst
#else
constexpr int kSlowness = 1;
#endif
constexpr int kPatienceMs = 60'000 * kSlowness;
/// Measured: 7 to 29 ms, 87 ms at worst with twice as many busy programs as cores.
constexpr double kLongestGapMs = 200.0 * kSlowness;
constexpr double kStopMs = 100.0 * kSlowness;

inline QJsonObject readJson(const QString& path) {
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::ReadOnly)) << path.toStdString();
    return QJsonDocument::fromJson(file.readAll()).object();
}

class EngineDesktopTest : public testing::Test {
protected:
    void SetUp() override {
        m_resources = findResources(resourceCandidates(QCoreApplication::applicationDirPath()));
        ASSERT_FALSE(m_resources.isEmpty());
        WorkbenchOptions options;
        options.engine = [] { return session::loadEngine(); };
        options.resources = m_resources;
        options.runFolder = fromPath(m_folder / "runs");
        options.settingsFile = fromPath(m_folder / "settings.ini");
        m_bench = std::make_unique<Workbench>(options);
        m_window = std::make_unique<MainWindow>(m_bench.get());
        StartupClock startup(m_window.get(), false); // the program, too, starts after a frame
        QObject::connect(&startup, &StartupClock::firstFrameShown, m_window.get(),
                         [this] { m_window->start({}); });
        m_window->show();
        ASSERT_TRUE(waitFor([&] { return runButton()->isEnabled(); }));
        m_clock.start();
    }

    void TearDown() override {
        RecordProperty("longest_gap_ms", static_cast<int>(m_clock.longestGapMs()));
    }

    QPushButton* runButton() const { return m_window->runPanel()->runButton(); }
    QPushButton* stopButton() const { return m_window->runPanel()->stopButton(); }

    void clickRun() { QTest::mouseClick(runButton(), Qt::LeftButton); }

    /// Clicks Run and waits until the run has ended well and its trace is open.
    void runToTheEnd() {
        const DocumentPtr before = m_bench->state()->document();
        clickRun();
        ASSERT_TRUE(m_bench->runs()->isRunning());
        ASSERT_TRUE(waitFor([&] {
            return m_window->errorBar()->isVisible() || m_bench->state()->document() != before;
        }));
        ASSERT_FALSE(m_window->errorBar()->isVisible())
            << m_window->errorBar()->failure().message.toStdString();
        ASSERT_FALSE(m_bench->runs()->isRunning());
    }

    /// The right answer to the first question about the first demo document.
    QString rightAnswer() const {
        const QJsonObject file = readJson(m_resources + u"/demo-documents/documents.json"_qs);
        const QJsonObject document = file[u"documents"].toArray().at(0).toObject();
        return document[u"questions"].toArray().at(0).toObject()[u"answer"].toString();
    }

    template <class Condition> static bool waitFor(Condition condition) {
        return turnUntil(condition, kPatienceMs);
    }

    ecokv::test::TemporaryFolder m_folder;
    QString m_resources;
    std::unique_ptr<Workbench> m_bench;
    std::unique_ptr<MainWindow> m_window;
    LoopClock m_clock; ///< runs from the moment the window is ready
};

} // namespace ecokv::ui::test
