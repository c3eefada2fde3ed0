// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workers/job_runner.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>

#include <atomic>
#include <thread>

namespace ecokv::ui {

namespace {

constexpr int kPatienceMs = 5000;

void sleepMs(int ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

} // namespace

TEST(JobRunner, worksOnItsThreadAndDeliversOnOurs) {
    JobRunner jobs(u"test"_qs);
    QThread* workedOn = nullptr;
    QThread* deliveredOn = nullptr;
    int result = 0;
    jobs.submit(
        u"adding"_qs,
        [&](const CancellationToken&) {
            workedOn = QThread::currentThread();
            return 2 + 2;
        },
        [&](int value) {
            deliveredOn = QThread::currentThread();
            result = value;
        });
    EXPECT_TRUE(jobs.isBusy());
    ASSERT_TRUE(QTest::qWaitFor([&] { return result == 4; }, kPatienceMs));
    EXPECT_NE(workedOn, QThread::currentThread());
    EXPECT_EQ(deliveredOn, QThread::currentThread());
    EXPECT_FALSE(jobs.isBusy());
}

TEST(JobRunner, aNewerJobSupersedesAnOlderOne) {
    JobRunner jobs(u"test"_qs);
    std::atomic<bool> firstStarted{false}, firstSawCancel{false};
    std::vector<int> delivered;
    jobs.submit(
        u"first"_qs,
        [&](const CancellationToken& cancel) {
            firstStarted = true;
            while (!cancel.isCancelled()) {
                sleepMs(1);
            }
            firstSawCancel = true;
            return 1;
        },
        [&](int value) { delivered.push_back(value); });
    ASSERT_TRUE(QTest::qWaitFor([&] { return firstStarted.load(); }, kPatienceMs));
    std::atomic<int> secondRuns{0};
    for (int i = 2; i <= 4; ++i) {
        jobs.submit(
            u"later"_qs,
            [&, i](const CancellationToken&) {
                ++secondRuns;
                return i;
            },
            [&](int value) { delivered.push_back(value); });
    }
    ASSERT_TRUE(QTest::qWaitFor([&] { return !delivered.empty(); }, kPatienceMs));
    QTest::qWait(30);
    EXPECT_TRUE(firstSawCancel);
    EXPECT_EQ(delivered, std::vector<int>{4});
    EXPECT_EQ(secondRuns, 1); // those in between never began
}

TEST(JobRunner, cancelFreesTheOwnerAtOnceThoughTheWorkerIsSlow) {
    JobRunner jobs(u"test"_qs);
    std::atomic<bool> started{false};
    bool delivered = false;
    const QSignalSpy cancelled(&jobs, &JobRunner::cancelled);
    jobs.submit(
        u"stubborn"_qs,
        [&](const CancellationToken&) {
            started = true;
            sleepMs(300); // never looks at its token
            return 1;
        },
        [&](int) { delivered = true; });
    ASSERT_TRUE(QTest::qWaitFor([&] { return started.load(); }, kPatienceMs));
    QElapsedTimer timer;
    timer.start();
    jobs.cancel();
    EXPECT_LT(timer.elapsed(), 100);
    EXPECT_EQ(cancelled.count(), 1);
    EXPECT_FALSE(jobs.isBusy());
    QTest::qWait(400);
    EXPECT_FALSE(delivered);
}

TEST(JobRunner, everyExceptionBecomesOneFailureF157) {
    JobRunner jobs(u"test"_qs);
    const QSignalSpy failed(&jobs, &JobRunner::failed);
    const std::vector<std::function<int()>> throwers = {
        []() -> int { throwBadInput("The file is broken.", "Get another."); },
        []() -> int { throw std::runtime_error("oops"); },
        []() -> int { throw 7; },
    };
    for (int i = 0; i < static_cast<int>(throwers.size()); ++i) {
        jobs.submit(
            u"throwing"_qs, [&, i](const CancellationToken&) { return throwers[i](); },
            [](int) { FAIL() << "a result of a job that threw"; });
        ASSERT_TRUE(QTest::qWaitFor([&] { return failed.count() == i + 1; }, kPatienceMs));
        EXPECT_FALSE(jobs.isBusy());
    }
    EXPECT_EQ(failed.at(0).at(0).value<JobFailure>().message, u"The file is broken."_qs);
}

TEST(JobRunner, aJobThatSaysItWasCancelledIsNoFailure) {
    JobRunner jobs(u"test"_qs);
    const QSignalSpy failed(&jobs, &JobRunner::failed);
    const QSignalSpy cancelled(&jobs, &JobRunner::cancelled);
    jobs.submit(
        u"self"_qs,
        [](const CancellationToken&) -> int { throw Error(ErrorKind::Cancelled, "Stopped."); },
        [](int) {});
    ASSERT_TRUE(QTest::qWaitFor([&] { return cancelled.count() == 1; }, kPatienceMs));
    EXPECT_EQ(failed.count(), 0);
}

TEST(JobRunner, aThrowingDeliveryIsAFailureToo) {
    JobRunner jobs(u"test"_qs);
    const QSignalSpy failed(&jobs, &JobRunner::failed);
    jobs.submit(
        u"show"_qs, [](const CancellationToken&) { return 1; },
        [](int) { throw std::runtime_error("cannot show it"); });
    ASSERT_TRUE(QTest::qWaitFor([&] { return failed.count() == 1; }, kPatienceMs));
}

TEST(JobRunner, endsCleanlyWhileBusy) {
    std::atomic<bool> started{false};
    {
        JobRunner jobs(u"test"_qs);
        jobs.submit(
            u"long"_qs,
            [&](const CancellationToken& cancel) {
                started = true;
                while (!cancel.isCancelled()) {
                    sleepMs(1);
                }
                return 0;
            },
            [](int) { FAIL() << "delivered to a dead owner"; });
        ASSERT_TRUE(QTest::qWaitFor([&] { return started.load(); }, kPatienceMs));
    }
    QTest::qWait(20);
}

} // namespace ecokv::ui
