// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workers/demo_builder.h"

#include "base/error.h"
#include "support/fake_demo_script.h"
#include "support/sample_trace.h"
#include "ui/models/paths.h"

#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>

namespace ecokv::ui {

namespace {

constexpr int kPatienceMs = 8000;

class DemoBuilderTest : public testing::Test {
protected:
    RealDemo demo(const std::string& body) const {
        ecokv::test::writeDemoScript(m_folder / "build.py", body);
        RealDemo demo;
        demo.folder = fromPath(m_folder / "data/demo-135m");
        demo.python = QStringLiteral("/bin/sh");
        demo.script = fromPath(m_folder / "build.py");
        return demo;
    }
    /// The failure of a build that has to fail.
    JobFailure failureOf(const RealDemo& demo) {
        const QSignalSpy failed(&m_builder, &DemoBuilder::failed);
        m_builder.build(demo);
        EXPECT_TRUE(QTest::qWaitFor([&] { return failed.count() == 1; }, kPatienceMs));
        return failed.isEmpty() ? JobFailure{} : failed.at(0).at(0).value<JobFailure>();
    }

    ecokv::test::TemporaryFolder m_folder;
    DemoBuilder m_builder;
};

} // namespace

TEST_F(DemoBuilderTest, reportsMegabytesAndNamesTheFolder) {
    QStringList sentences;
    QObject::connect(&m_builder, &DemoBuilder::progressed, &m_builder,
                     [&](const ProgressView& view) { sentences << view.sentence(); });
    const QSignalSpy built(&m_builder, &DemoBuilder::built);
    const QSignalSpy ended(&m_builder, &DemoBuilder::ended);
    const RealDemo real = demo(ecokv::test::goodBuild());
    m_builder.build(real);
    EXPECT_TRUE(m_builder.isBuilding());
    ASSERT_TRUE(QTest::qWaitFor([&] { return ended.count() == 1; }, kPatienceMs));
    ASSERT_EQ(built.count(), 1);
    EXPECT_EQ(built.at(0).at(0).toString(), real.folder);
    ASSERT_EQ(sentences.size(), 2);
    EXPECT_EQ(sentences[0], u"Downloading · 10 of 93 MB"_qs);
    EXPECT_TRUE(sentences[1].startsWith(u"Downloading · 93 of 93 MB"_qs));
    EXPECT_FALSE(m_builder.isBuilding());
}

TEST_F(DemoBuilderTest, sentencesOfTheScriptArriveAsTheyAre) {
    const JobFailure failure = failureOf(demo("echo '{\"error\": \"The index cannot be reached.\", "
                                              "\"advice\": \"Connect.\"}'\nexit 3\n"));
    EXPECT_EQ(failure.message, u"The index cannot be reached."_qs);
    EXPECT_EQ(failure.advice, u"Connect."_qs);
}

TEST_F(DemoBuilderTest, aScriptThatBreaksIsQuotedWithItsLastWords) {
    const JobFailure failure =
        failureOf(demo("echo 'Traceback' >&2\necho 'ImportError: torch' >&2\nexit 1\n"));
    EXPECT_TRUE(failure.message.contains(u"ended unexpectedly: ImportError: torch"_qs))
        << failure.message.toStdString();
    EXPECT_TRUE(failure.advice.contains(u"./run --demo 135m"_qs));
}

TEST_F(DemoBuilderTest, aMissingPythonIsNamed) {
    RealDemo real = demo("");
    real.python = u"/no/such/python"_qs;
    const JobFailure failure = failureOf(real);
    EXPECT_TRUE(failure.message.contains(u"/no/such/python"_qs));
    EXPECT_TRUE(failure.advice.contains(u"./run"_qs));
}

TEST_F(DemoBuilderTest, cancellingFreesTheWindowAtOnceAndEndsTheScript) {
    const auto marker = m_folder / "running";
    const QSignalSpy progressed(&m_builder, &DemoBuilder::progressed);
    const QSignalSpy cancelled(&m_builder, &DemoBuilder::cancelled);
    m_builder.build(demo(ecokv::test::endlessBuild(marker)));
    ASSERT_TRUE(QTest::qWaitFor([&] { return progressed.count() == 1; }, kPatienceMs));
    EXPECT_TRUE(std::filesystem::exists(marker));
    QElapsedTimer timer;
    timer.start();
    m_builder.cancel();
    EXPECT_LT(timer.elapsed(), 100);
    EXPECT_EQ(cancelled.count(), 1);
    EXPECT_FALSE(m_builder.isBuilding());
    EXPECT_TRUE(QTest::qWaitFor([&] { return !std::filesystem::exists(marker); }, kPatienceMs));
}

TEST_F(DemoBuilderTest, quittingEndsTheScript) {
    const auto marker = m_folder / "running";
    {
        DemoBuilder builder;
        const QSignalSpy progressed(&builder, &DemoBuilder::progressed);
        builder.build(demo(ecokv::test::endlessBuild(marker)));
        ASSERT_TRUE(QTest::qWaitFor([&] { return progressed.count() == 1; }, kPatienceMs));
    }
    EXPECT_FALSE(std::filesystem::exists(marker));
}

} // namespace ecokv::ui
