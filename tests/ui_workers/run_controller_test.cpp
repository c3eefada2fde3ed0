// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workers/run_controller.h"

#include "base/error.h"
#include "support/fake_engine.h"
#include "ui/models/paths.h"

#include <gtest/gtest.h>

#include <QDir>
#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>

namespace ecokv::ui {

namespace {

using ecokv::test::FakeBehaviour;
using ecokv::test::FakeEngine;

constexpr int kPatienceMs = 8000;

class RunControllerTest : public testing::Test {
protected:
    session::RunConfig config() const {
        session::RunConfig config;
        config.model = "model";
        config.prompt = "QRH?";
        config.compareFull = true;
        return config;
    }
    QString folder() const { return fromPath(m_folder.path()); }

    std::shared_ptr<FakeBehaviour> m_behaviour = std::make_shared<FakeBehaviour>();
    ecokv::test::TemporaryFolder m_folder;
    RunController m_runs{
        [behaviour = m_behaviour] { return std::make_unique<FakeEngine>(behaviour); }};
};

} // namespace

TEST_F(RunControllerTest, createsTheEngineOnFirstUseOnly) {
    EXPECT_EQ(m_behaviour->created, 0);
    const QSignalSpy described(&m_runs, &RunController::modelDescribed);
    m_runs.describeModel(u"/models/tiny"_qs);
    ASSERT_TRUE(QTest::qWaitFor([&] { return described.count() == 1; }, kPatienceMs));
    m_runs.describeModel(u"/models/other"_qs);
    ASSERT_TRUE(QTest::qWaitFor([&] { return described.count() == 2; }, kPatienceMs));
    EXPECT_EQ(m_behaviour->created, 1);
}

TEST_F(RunControllerTest, theDoctorIsAskedWithoutARun) {
    session::DoctorReport report;
    QObject::connect(&m_runs, &RunController::examined, &m_runs,
                     [&](const session::DoctorReport& r) { report = r; });
    session::DoctorRequest request;
    request.model = "/models/tiny";
    m_runs.examine(request);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !report.findings.empty(); }, kPatienceMs));
    EXPECT_EQ(report.model, "tiny");
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(m_behaviour->runs, 0);
    EXPECT_EQ(m_behaviour->examinations, 1);
}

TEST_F(RunControllerTest, streamsThenGivesTheWholeResult) {
    QString full, policy;
    QStringList order;
    RunResultPtr result;
    QObject::connect(&m_runs, &RunController::textArrived, &m_runs,
                     [&](session::Stream stream, const QString& piece) {
                         (stream == session::Stream::Full ? full : policy) += piece;
                         order << u"text"_qs;
                     });
    QObject::connect(&m_runs, &RunController::ledgerArrived, &m_runs,
                     [&](const session::Ledger&) { order << u"ledger"_qs; });
    QObject::connect(&m_runs, &RunController::runFinished, &m_runs,
                     [&](const RunResultPtr& r) { result = r; });
    m_runs.run(config(), folder());
    EXPECT_TRUE(m_runs.isRunning());
    ASSERT_TRUE(QTest::qWaitFor([&] { return result != nullptr; }, kPatienceMs));
    EXPECT_EQ(full, u"407"_qs);
    EXPECT_EQ(policy, u"417"_qs);
    EXPECT_EQ(order.value(0), u"ledger"_qs);
    EXPECT_EQ(result->answer.text, "417");
    EXPECT_TRUE(std::filesystem::exists(result->trace));
    EXPECT_FALSE(m_runs.isRunning());
}

TEST_F(RunControllerTest, stopTakesEffectWithin100MsAndNothingArrivesAfterIt) {
    m_behaviour->duration = std::chrono::milliseconds(600);
    m_behaviour->ignoresCancel = true;
    const QSignalSpy finished(&m_runs, &RunController::runFinished);
    const QSignalSpy text(&m_runs, &RunController::textArrived);
    const QSignalSpy stopped(&m_runs, &RunController::runStopped);
    const QSignalSpy failed(&m_runs, &RunController::runFailed);
    m_runs.run(config(), folder());
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_behaviour->runs == 1; }, kPatienceMs));
    QElapsedTimer timer;
    timer.start();
    m_runs.stop();
    EXPECT_LT(timer.elapsed(), 100);
    EXPECT_EQ(stopped.count(), 1);
    EXPECT_FALSE(m_runs.isRunning());
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_behaviour->finishedRuns == 1; }, kPatienceMs));
    QTest::qWait(50);
    EXPECT_EQ(finished.count(), 0);
    EXPECT_EQ(text.count(), 0);
    EXPECT_EQ(failed.count(), 0);
}

TEST_F(RunControllerTest, theEngineSeesTheCancelToken) {
    m_behaviour->duration = std::chrono::seconds(60);
    m_runs.run(config(), folder());
    ASSERT_TRUE(QTest::qWaitFor([&] { return m_behaviour->runs == 1; }, kPatienceMs));
    m_runs.stop();
    m_behaviour->duration = std::chrono::milliseconds(0);
    const QSignalSpy finished(&m_runs, &RunController::runFinished);
    m_runs.run(config(), folder()); // waits for the first to wind down, which takes 5 ms, not 60 s
    ASSERT_TRUE(QTest::qWaitFor([&] { return finished.count() == 1; }, kPatienceMs));
}

TEST_F(RunControllerTest, failuresOfEveryKindAreSentencesF157) {
    const QSignalSpy failed(&m_runs, &RunController::runFailed);
    m_behaviour->failure = [] { throwBadInput("Tensor q_proj has shape [3].", "Re-download."); };
    m_runs.run(config(), folder());
    ASSERT_TRUE(QTest::qWaitFor([&] { return failed.count() == 1; }, kPatienceMs));
    EXPECT_EQ(failed.at(0).at(0).value<JobFailure>().advice, u"Re-download."_qs);
    m_behaviour->failure = [] { throw std::logic_error("index"); };
    m_runs.run(config(), folder());
    ASSERT_TRUE(QTest::qWaitFor([&] { return failed.count() == 2; }, kPatienceMs));
    EXPECT_FALSE(m_runs.isRunning());
}

TEST_F(RunControllerTest, aMissingEngineFailsTheDescription) {
    RunController broken([]() -> std::unique_ptr<session::Engine> {
        throwBadInput("The model engine was not found.", "Build it.");
    });
    const QSignalSpy failed(&broken, &RunController::modelFailed);
    broken.describeModel(u"/models/tiny"_qs);
    ASSERT_TRUE(QTest::qWaitFor([&] { return failed.count() == 1; }, kPatienceMs));
}

TEST(NewTracePath, neverReusesANameF140AndKeepsTheNewest) {
    const ecokv::test::TemporaryFolder folder;
    const QString path = fromPath(folder / "runs");
    QStringList made;
    for (int i = 0; i < 5; ++i) {
        const QString name = newTracePath(path, 3);
        EXPECT_FALSE(made.contains(name));
        QFile file(name);
        ASSERT_TRUE(file.open(QIODevice::WriteOnly));
        made << name;
        QTest::qSleep(2); // names hold milliseconds
    }
    const QStringList left = QDir(path).entryList(QDir::Files, QDir::Name);
    ASSERT_EQ(left.size(), 3);
    EXPECT_TRUE(made.last().endsWith(left.last()));
}

} // namespace ecokv::ui
