// SPDX-License-Identifier: GPL-3.0-or-later
#include "desktop_fixture.h"

#include "base/error.h"
#include "ui/pages/doctor_view.h"
#include "ui/pages/heads_page.h"
#include "ui/pages/survival_page.h"
#include "ui/pages/timeline_panel.h"
#include "ui/plots/head_map_plot.h"
#include "ui/plots/scatter_plot.h"
#include "ui/plots/survival_image.h"
#include "ui/plots/token_text.h"

#include <QDragEnterEvent>
#include <QElapsedTimer>
#include <QLabel>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QTextEdit>
#include <QToolButton>
#include <QUrl>

#include <algorithm>

namespace ecokv::ui::test {

TEST_F(DesktopTest, firstStartIsReadyToRunTheDemo) {
    openDemo();
    const session::RunConfig config = m_window->runPanel()->config();
    const DemoCatalogue catalogue =
        loadDemoCatalogue(QStringLiteral(ECOKV_SOURCE_DIR "/resources"));
    const DemoDocument& first = catalogue.documents.front();
    EXPECT_EQ(config.model.filename(), "demo-model");
    ASSERT_EQ(config.images.size(), 1U);
    EXPECT_EQ(fromPath(config.images[0]), first.picture);
    EXPECT_EQ(config.prompt, first.questions.front().question.toStdString());
    EXPECT_EQ(m_window->runPanel()->expectedAnswer(), first.questions.front().answer);
    EXPECT_TRUE(m_window->answersPage()->isEmpty());
}

/// At 1280 x 800 the pages leave the Run panel the width that its form needs.
TEST_F(DesktopTest, nothingOfTheRunPanelIsCutOff) {
    openDemo();
    ASSERT_EQ(m_window->size(), QSize(1280, 800));
    const auto* scroll = m_window->runPanel()->findChild<QScrollArea*>();
    ASSERT_NE(scroll, nullptr);
    EXPECT_TRUE(waitFor([&] {
        return scroll->widget()->minimumSizeHint().width() <= scroll->viewport()->width();
    })) << scroll->widget()->minimumSizeHint().width()
        << " pixels are needed, there are " << scroll->viewport()->width();
}

TEST_F(DesktopTest, oneClickOnRunFillsEveryPage) {
    runDemo();
    EXPECT_EQ(m_window->answersPage()->fullAnswer(), u"407"_qs);
    EXPECT_EQ(m_window->answersPage()->policyAnswer(), u"417"_qs);
    const auto shows = [&](FigureWidget* plot) { return plot && plot->figure() != nullptr; };
    ASSERT_TRUE(waitFor([&] { return shows(m_window->findChild<HeadMapPlot*>()); }));
    ASSERT_TRUE(waitFor([&] { return shows(m_window->findChild<ScatterPlot*>()); }));
    ASSERT_TRUE(waitFor([&] { return shows(m_window->findChild<SurvivalImage*>()); }));
    ASSERT_TRUE(waitFor([&] { return shows(m_window->findChild<TokenText*>()); }));
    EXPECT_FALSE(m_window->errorBar()->isVisible());
    EXPECT_TRUE(runButton()->isEnabled());
    EXPECT_FALSE(stopButton()->isEnabled());
    EXPECT_TRUE(m_window->timeline()->logText().contains(u"Run finished"_qs));
    EXPECT_TRUE(m_window->timeline()->logText().contains(u"The fake engine answered."_qs));
}

TEST_F(DesktopTest, theDoctorReportsBeforeARunAndAgainWhenThePromptChanges) {
    m_behaviour->findings.push_back(
        {"Weights", "Tensors", "one is missing", Severity::Problem, "Get it."});
    openDemo();
    const DoctorView* doctor = m_window->runPanel()->doctorView();
    ASSERT_TRUE(waitFor([&] { return doctor->isVisible(); }));
    EXPECT_EQ(m_behaviour->runs, 0);
    const auto says = [&](const QString& text) {
        const auto labels = doctor->findChildren<QLabel*>();
        return std::ranges::any_of(labels, [&](const QLabel* label) {
            return label->isVisible() && label->text().contains(text);
        });
    };
    EXPECT_TRUE(says(u"1 problem"_qs));
    EXPECT_TRUE(says(u"✗ Tensors: one is missing\n   → Get it."_qs));
    EXPECT_FALSE(says(u"config.json"_qs)); // what is fine is told on demand
    doctor->detailsButton()->click();
    EXPECT_TRUE(says(u"✓ config.json"_qs));
    const int before = m_behaviour->examinations;
    m_behaviour->findings.pop_back();
    m_window->runPanel()->findChild<QPlainTextEdit*>()->setPlainText(u"Another question"_qs);
    ASSERT_TRUE(waitFor([&] { return says(u"Ready to run on cpu"_qs); }));
    EXPECT_EQ(m_behaviour->examinations, before + 1); // many key strokes, one check
}

TEST_F(DesktopTest, aRunMovesNoDock) {
    openDemo();
    m_window->resize(1280, 800);
    QTest::qWait(50);
    const QRect before = m_window->runPanel()->geometry();
    runButton()->setFocus();
    QTest::mouseClick(runButton(), Qt::LeftButton);
    ASSERT_TRUE(waitFor([&] { return m_bench->survival()->view().result != nullptr; }));
    for (int page = MainWindow::RunPage; page <= MainWindow::TracePageIndex; ++page) {
        m_window->showPage(static_cast<MainWindow::Page>(page));
        QTest::qWait(20);
        EXPECT_EQ(m_window->runPanel()->geometry(), before) << "page " << page;
    }
}

TEST_F(DesktopTest, stopActsWithin100MsAndTheWindowRunsAgain) {
    m_behaviour->duration = std::chrono::milliseconds(800);
    m_behaviour->ignoresCancel = true;
    openDemo();
    QTest::mouseClick(runButton(), Qt::LeftButton);
    ASSERT_TRUE(waitFor([&] { return m_behaviour->runs == 1; }));
    EXPECT_TRUE(stopButton()->isEnabled());
    EXPECT_FALSE(runButton()->isEnabled());
    QElapsedTimer timer;
    timer.start();
    QTest::mouseClick(stopButton(), Qt::LeftButton);
    EXPECT_LT(timer.elapsed(), 100);
    EXPECT_TRUE(runButton()->isEnabled());
    EXPECT_FALSE(stopButton()->isEnabled());
    m_behaviour->duration = std::chrono::milliseconds(0);
    QTest::mouseClick(runButton(), Qt::LeftButton);
    ASSERT_TRUE(waitFor([&] { return m_bench->state()->document() != nullptr; }));
    EXPECT_EQ(m_behaviour->runs, 2);
}

TEST_F(DesktopTest, theEventLoopTurnsWhileARunIsBusy) {
    m_behaviour->duration = std::chrono::milliseconds(400);
    openDemo();
    QTest::mouseClick(runButton(), Qt::LeftButton);
    qint64 longest = 0;
    QElapsedTimer timer;
    timer.start();
    while (m_bench->runs()->isRunning()) {
        const qint64 before = timer.elapsed();
        QTest::qWait(5);
        longest = std::max(longest, timer.elapsed() - before);
    }
    EXPECT_LT(longest, 200);
}

TEST_F(DesktopTest, aTraceFromTheCommandLineNeedsNoEngine) {
    open({sampleTrace()});
    ASSERT_TRUE(waitFor([&] { return m_bench->state()->document() != nullptr; }));
    ASSERT_TRUE(waitFor([&] { return runButton()->isEnabled(); })); // the demo is offered
    QTest::qWait(50);
    EXPECT_EQ(m_behaviour->created, 0);
    EXPECT_FALSE(m_window->answersPage()->isEmpty());
    EXPECT_TRUE(m_window->windowTitle().contains(u"30 tokens"_qs));
}

TEST_F(DesktopTest, brokenTraceByCommandLineShowsTheBarF157) {
    open({brokenFile("broken.h5")});
    ASSERT_TRUE(waitFor([&] { return m_window->errorBar()->isVisible(); }));
    EXPECT_TRUE(m_window->errorBar()->failure().message.contains(u"broken.h5"_qs));
    EXPECT_TRUE(m_window->isVisible());
}

TEST_F(DesktopTest, brokenCheckpointByDropShowsTheBarF157) {
    m_behaviour->describeFailure = [] {
        throwBadInput("model.safetensors is cut off after 12 bytes.", "Copy it again.");
    };
    open({sampleTrace()});
    ASSERT_TRUE(waitFor([&] { return m_bench->state()->document() != nullptr; }));
    ASSERT_TRUE(waitFor([&] { return runButton()->isEnabled(); }));
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(brokenFile("model.safetensors"))});
    QDragEnterEvent enter(QPoint(600, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(m_window.get(), &enter);
    QDropEvent drop(QPointF(600, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(m_window.get(), &drop);
    ASSERT_TRUE(waitFor([&] { return m_window->errorBar()->isVisible(); }));
    EXPECT_EQ(m_window->errorBar()->failure().advice, u"Copy it again."_qs);
    m_window->errorBar()->dismiss();
    EXPECT_FALSE(m_window->errorBar()->isVisible());
}

TEST_F(DesktopTest, brokenTraceByMenuKeepsTheOpenOneF157) {
    open({sampleTrace()});
    ASSERT_TRUE(waitFor([&] { return m_bench->state()->document() != nullptr; }));
    const DocumentPtr before = m_bench->state()->document();
    m_bench->openPath(brokenFile("broken.h5")); // what File > Recent does
    ASSERT_TRUE(waitFor([&] { return m_window->errorBar()->isVisible(); }));
    EXPECT_EQ(m_bench->state()->document(), before);
}

TEST_F(DesktopTest, aFailedRunSaysWhyAndCanBeRepeatedF157) {
    m_behaviour->failure = [] { throw std::runtime_error("tensor trouble"); };
    openDemo();
    QTest::mouseClick(runButton(), Qt::LeftButton);
    ASSERT_TRUE(waitFor([&] { return m_window->errorBar()->isVisible(); }));
    EXPECT_TRUE(m_window->errorBar()->failure().message.contains(u"tensor trouble"_qs));
    EXPECT_TRUE(runButton()->isEnabled());
    ASSERT_TRUE(waitFor([&] { return !m_bench->runs()->isRunning(); }));
    for (const QTextEdit* answer : m_window->answersPage()->findChildren<QTextEdit*>()) {
        EXPECT_EQ(answer->placeholderText(), QString()); // nobody waits for it any more
    }
    const auto labels = m_window->answersPage()->findChildren<QLabel*>();
    EXPECT_TRUE(std::ranges::any_of(
        labels, [](const QLabel* label) { return label->text() == u"Run failed."_qs; }));
    m_behaviour->failure = nullptr;
    QTest::mouseClick(runButton(), Qt::LeftButton);
    ASSERT_TRUE(waitFor([&] { return m_bench->state()->document() != nullptr; }));
    EXPECT_FALSE(m_window->errorBar()->isVisible());
}

TEST_F(DesktopTest, exportsAFigureInEveryFormat) {
    runDemo();
    const auto* map = m_window->findChild<HeadMapPlot*>();
    ASSERT_TRUE(waitFor([&] { return map->figure() != nullptr; }));
    for (const char* name : {"map.png", "map.svg", "map.pdf", "map.csv"}) {
        const auto path = m_folder / name;
        m_bench->files()->exportFigure(map->figure(), fromPath(path), {});
        ASSERT_TRUE(waitFor([&] {
            return m_window->timeline()->logText().contains(QLatin1String(name));
        })) << name;
        EXPECT_GT(std::filesystem::file_size(path), 50U) << name;
    }
}

} // namespace ecokv::ui::test
