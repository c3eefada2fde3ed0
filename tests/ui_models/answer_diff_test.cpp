// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/answer_diff.h"

#include <gtest/gtest.h>

namespace ecokv::ui {

TEST(AnswerDiff, findsTheFirstDifferentCharacter) {
    EXPECT_EQ(firstDifference(u"total 473"_qs, u"total 413"_qs, true), 7);
    EXPECT_EQ(firstDifference(u"x"_qs, u"y"_qs, true), 0);
}

TEST(AnswerDiff, equalAnswersHaveNone) {
    EXPECT_EQ(firstDifference(u"473"_qs, u"473"_qs, true), -1);
    EXPECT_EQ(firstDifference({}, {}, true), -1);
}

TEST(AnswerDiff, missingTailCountsOnlyWhenBothAreComplete) {
    EXPECT_EQ(firstDifference(u"473"_qs, u"47"_qs, false), -1);
    EXPECT_EQ(firstDifference(u"473"_qs, u"47"_qs, true), 2);
}

TEST(AnswerDiff, neverSplitsASurrogatePair) {
    // U+1F600 and U+1F601 share their high surrogate.
    const QString grin = QString::fromUtf8("a\xF0\x9F\x98\x80");
    const QString beam = QString::fromUtf8("a\xF0\x9F\x98\x81");
    EXPECT_EQ(firstDifference(grin, beam, true), 1);
}

TEST(AnswerDiff, answersMatchWithoutCaseAndBlanks) {
    EXPECT_TRUE(answersMatch(u"Red"_qs, u" red\n"_qs));
    EXPECT_FALSE(answersMatch(u"031"_qs, u"31"_qs));
}

} // namespace ecokv::ui
