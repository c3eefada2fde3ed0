// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workers/job_failure.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <new>

namespace ecokv::ui {

namespace {

template <class Thrown> JobFailure failureOf(const Thrown& thrown) {
    return describeFailure(std::make_exception_ptr(thrown), u"Opening x.h5"_qs);
}

} // namespace

TEST(JobFailure, keepsSentenceAndAdviceOfOurErrors) {
    const JobFailure failure =
        failureOf(Error(ErrorKind::BadInput, "The file x.h5 is cut off.", "Copy it again."));
    EXPECT_EQ(failure.message, u"The file x.h5 is cut off."_qs);
    EXPECT_EQ(failure.advice, u"Copy it again."_qs);
    EXPECT_FALSE(failure.cancelled);
    EXPECT_TRUE(failure.details.contains(u"Opening x.h5 failed"_qs));
    EXPECT_TRUE(failure.details.contains(u"Copy it again."_qs));
}

TEST(JobFailure, knowsWhatTheUserStopped) {
    EXPECT_TRUE(failureOf(Error(ErrorKind::Cancelled, "The run was stopped.")).cancelled);
}

TEST(JobFailure, explainsForeignExceptionsF157) {
    EXPECT_TRUE(failureOf(std::runtime_error("bad tensor")).message.contains(u"bad tensor"_qs));
    EXPECT_TRUE(failureOf(std::bad_alloc()).message.contains(u"not enough memory"_qs));
    EXPECT_TRUE(failureOf(42).message.contains(u"unknown reason"_qs));
}

} // namespace ecokv::ui
