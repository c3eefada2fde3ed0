// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/answer_generator.h"

#include "base/error.h"
#include "session/fake_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace ecokv::session {

namespace {

Answer generate(FakeModel& model, std::int64_t limit, std::vector<std::string>* pieces = nullptr) {
    cache::KvCache cache(model.cacheShape());
    GenerationParams params;
    params.maxNewTokens = limit;
    params.onText = [pieces](const std::string& piece) {
        if (pieces != nullptr) {
            pieces->push_back(piece);
        }
    };
    return generateAnswer(model, cache, model.logitsFor(0), params);
}

} // namespace

TEST(AnswerGenerator, stopsAtTheEndTokenAndLeavesItOutOfTheText) {
    FakeModel model("123");
    const Answer answer = generate(model, 16);
    EXPECT_EQ(answer.text, "123");
    EXPECT_TRUE(answer.stoppedAtEnd);
    EXPECT_EQ(answer.tokenIds, (std::vector<TokenId>{'1', '2', '3', FakeModel::kEnd}));
}

TEST(AnswerGenerator, stopsAtTheLimitWithoutDecodingOneTokenTooMany) {
    FakeModel model("123456");
    const Answer answer = generate(model, 3);
    EXPECT_EQ(answer.text, "123");
    EXPECT_FALSE(answer.stoppedAtEnd);
    EXPECT_EQ(model.decodeSteps(), 2U); // the third token needs no further forward pass
}

// F118: a four-byte emoji arrives in four tokens and is shown once, whole.
TEST(AnswerGenerator, neverShowsHalfACharacter) {
    FakeModel model("a\xF0\x9F\x98\x80z");
    std::vector<std::string> pieces;
    const Answer answer = generate(model, 16, &pieces);
    EXPECT_EQ(answer.text, "a\xF0\x9F\x98\x80z");
    EXPECT_EQ(pieces, (std::vector<std::string>{"a", "\xF0\x9F\x98\x80", "z"}));
}

TEST(AnswerGenerator, aCharacterCutByTheLimitIsShownAsReplacement) {
    FakeModel model("a\xF0\x9F\x98\x80");
    std::vector<std::string> pieces;
    const Answer answer = generate(model, 3, &pieces);
    EXPECT_EQ(answer.text, "a\xEF\xBF\xBD");
    EXPECT_EQ(pieces, (std::vector<std::string>{"a", "\xEF\xBF\xBD"}));
}

TEST(AnswerGenerator, recordsTheLogProbabilityOfEachToken) {
    FakeModel model("7");
    const Answer answer = generate(model, 16);
    // one logit of 4 among 256 of 0: p = e^4 / (e^4 + 256)
    const double expected = 4.0 - std::log(std::exp(4.0) + 256.0);
    ASSERT_EQ(answer.logprob.size(), 2U);
    EXPECT_NEAR(answer.logprob[0], expected, 1e-6);
    EXPECT_NEAR(answer.logprob[1], expected, 1e-6);
}

TEST(AnswerGenerator, aCancelledTokenStopsTheAnswer) {
    FakeModel model("123456");
    cache::KvCache cache(model.cacheShape());
    CancellationSource source;
    GenerationParams params;
    params.maxNewTokens = 100;
    params.cancel = source.token();
    params.onToken = [&source](std::int64_t done) {
        if (done == 2) {
            source.cancel();
        }
    };
    try {
        generateAnswer(model, cache, model.logitsFor(0), params);
        FAIL() << "went on after the cancellation";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
    }
    EXPECT_LE(model.decodeSteps(), 2U);
}

TEST(StablePrefix, endsBeforeTrailingReplacementCharacters) {
    EXPECT_EQ(stablePrefix(""), 0U);
    EXPECT_EQ(stablePrefix("abc"), 3U);
    EXPECT_EQ(stablePrefix("ab\xEF\xBF\xBD"), 2U);
    EXPECT_EQ(stablePrefix("\xEF\xBF\xBD\xEF\xBF\xBD"), 0U);
    EXPECT_EQ(stablePrefix("\xEF\xBF\xBDx"), 4U); // an old one stays
}

} // namespace ecokv::session
