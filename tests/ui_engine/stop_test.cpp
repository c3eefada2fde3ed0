// SPDX-License-Identifier: GPL-3.0-or-later
// Stop against the real engine, which looks at the cancellation only between layers and tokens.
#include "engine_desktop.h"

#include "ui/pages/timeline_panel.h"

namespace ecokv::ui::test {

class StopTest : public EngineDesktopTest {
protected:
    /// Every setting that makes a run longer: as many demo pages as fit the model's context of 2048
    /// tokens beside 200 new ones, and an answer with little reason to end.
    session::RunConfig longRun() const {
        const DemoCatalogue catalogue = loadDemoCatalogue(m_resources);
        session::RunConfig config = m_window->runPanel()->config();
        config.images.clear();
        for (std::size_t i = 0; i < 7; ++i) { // 7 x 256 patches
            config.images.push_back(toPath(catalogue.documents.at(i).picture));
        }
        config.maxNewTokens = 200;
        config.temperature = 5; // the most the window offers
        config.policy.seed = 1;
        return config;
    }

    /// Starts `config` and clicks Stop the moment `signal` comes with something `isDue` accepts.
    template <class Signal, class Due>
    void stopWhen(const session::RunConfig& config, Signal signal, Due isDue) {
        m_stoppedAfterMs = -1;
        QObject context;
        QObject::connect(m_bench->runs(), signal, &context, [this, isDue](const auto&... values) {
            if (m_stoppedAfterMs < 0 && isDue(values...)) {
                clickStop();
            }
        });
        m_window->runPanel()->setConfig(config);
        clickRun();
        ASSERT_TRUE(m_bench->runs()->isRunning());
        EXPECT_FALSE(runButton()->isEnabled());
        waitFor([&] { return m_stoppedAfterMs >= 0 || !m_bench->runs()->isRunning(); });
        ASSERT_GE(m_stoppedAfterMs, 0) << "the run ended before it was stopped";
    }

    void expectStoppedAndUsable(const session::RunConfig& firstConfig) {
        EXPECT_LT(m_stoppedAfterMs, kStopMs);
        RecordProperty("stopped_after_ms", static_cast<int>(m_stoppedAfterMs));
        EXPECT_FALSE(m_bench->runs()->isRunning());
        EXPECT_FALSE(stopButton()->isEnabled());
        EXPECT_TRUE(m_window->timeline()->logText().contains(u"Run stopped."_qs));
        EXPECT_EQ(m_bench->state()->document(), nullptr);
        m_window->runPanel()->setConfig(firstConfig);
        runToTheEnd(); // waits for the engine to notice the stop, then runs
        EXPECT_EQ(m_window->answersPage()->policyAnswer(), rightAnswer());
        EXPECT_LT(m_clock.longestGapMs(), kLongestGapMs);
    }

    double m_stoppedAfterMs = -1; ///< how long the window took to leave the running state

private:
    void clickStop() {
        ASSERT_TRUE(stopButton()->isEnabled());
        Stopwatch watch;
        watch.start();
        QTest::mouseClick(stopButton(), Qt::LeftButton);
        ASSERT_TRUE(turnUntil([&] { return runButton()->isEnabled(); }, kPatienceMs));
        m_stoppedAfterMs = watch.elapsedMs();
    }
};

TEST_F(StopTest, leavesAPrefillWithin100MsAndRunsAgain) {
    const session::RunConfig first = m_window->runPanel()->config();
    stopWhen(longRun(), &RunController::progressed,
             [](const ProgressView& view) { return view.stage == u"Prefill"_qs && view.done > 0; });
    EXPECT_TRUE(m_window->answersPage()->policyAnswer().isEmpty()); // nothing was answered yet
    expectStoppedAndUsable(first);
}

TEST_F(StopTest, leavesAnAnswerWithin100MsAndRunsAgain) {
    const session::RunConfig first = m_window->runPanel()->config();
    session::RunConfig config = longRun();
    config.images.resize(1);
    stopWhen(config, &RunController::textArrived,
             [](session::Stream, const QString& piece) { return !piece.isEmpty(); });
    const AnswersPage* page = m_window->answersPage();
    EXPECT_FALSE((page->fullAnswer() + page->policyAnswer()).isEmpty()); // what came stays
    expectStoppedAndUsable(first);
}

} // namespace ecokv::ui::test
