#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A whole window on the fake engine, with settings and runs in a folder of its own.

#include "support/fake_engine.h"
#include "ui/app/main_window.h"
#include "ui/models/paths.h"
#include "ui/pages/answers_page.h"
#include "ui/pages/error_bar.h"
#include "ui/pages/model_picker.h"
#include "ui/pages/run_panel.h"

#include <gtest/gtest.h>

#include <QPushButton>
#include <QTest>

#include <fstream>
#include <memory>

namespace ecokv::ui::test {

constexpr int kPatienceMs = 10'000;

class DesktopTest : public testing::Test {
protected:
    void open(const QStringList& paths = {}) {
        m_window.reset();
        m_bench.reset();
        WorkbenchOptions options;
        options.engine = [behaviour = m_behaviour]() -> std::unique_ptr<session::Engine> {
            return std::make_unique<ecokv::test::FakeEngine>(behaviour);
        };
        options.resources = m_resources;
        options.dataFolder = fromPath(m_folder / "data");
        options.runFolder = fromPath(m_folder / "runs");
        options.settingsFile = fromPath(m_folder / "settings.ini");
        m_bench = std::make_unique<Workbench>(options);
        m_window = std::make_unique<MainWindow>(m_bench.get());
        m_window->show();
        m_window->start(paths);
    }

    /// Opens on the demo and waits until it can run.
    void openDemo() {
        open();
        ASSERT_TRUE(waitFor([&] { return runButton()->isEnabled(); }));
    }
    void runDemo() {
        openDemo();
        QTest::mouseClick(runButton(), Qt::LeftButton);
        ASSERT_TRUE(waitFor([&] { return m_bench->state()->document() != nullptr; }));
    }

    QPushButton* runButton() const { return m_window->runPanel()->runButton(); }
    QPushButton* stopButton() const { return m_window->runPanel()->stopButton(); }
    QString sampleTrace() const {
        return fromPath(ecokv::test::writeSampleTrace(m_folder / "sample.ecokv.h5"));
    }
    QString brokenFile(const std::string& name) const {
        std::ofstream(m_folder / name) << "neither trace nor model";
        return fromPath(m_folder / name);
    }
    template <class Condition> static bool waitFor(Condition condition) {
        return QTest::qWaitFor(condition, kPatienceMs);
    }

    std::shared_ptr<ecokv::test::FakeBehaviour> m_behaviour =
        std::make_shared<ecokv::test::FakeBehaviour>();
    QString m_resources = QStringLiteral(ECOKV_SOURCE_DIR "/resources");
    ecokv::test::TemporaryFolder m_folder;
    std::unique_ptr<Workbench> m_bench;
    std::unique_ptr<MainWindow> m_window;
};

} // namespace ecokv::ui::test
