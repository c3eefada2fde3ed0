// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/question_round.h"

#include "base/error.h"
#include "session/decode_evictor.h"
#include "session/history_lengths.h"
#include "session/toy_model.h"

#include <gtest/gtest.h>

#include <string>

namespace ecokv::session {

namespace {

/// 30 tokens seen; layer 0 ragged.
cache::KvCache compressedContext(ToyModel& model) {
    cache::KvCache cache(model.cacheShape());
    const std::vector<TokenId> prompt(30, 1);
    model.extend(prompt, cache, nullptr, {}, {});
    cache.apply({LayerId{0}, {{0, 3, 29}, {5}}, true});
    return cache;
}

GenerationParams sixTokens() {
    GenerationParams params;
    params.maxNewTokens = 6;
    return params;
}

} // namespace

TEST(QuestionRound, theContextStaysAsItIsAndTheSecondQuestionDoesNotSeeTheFirst) {
    ToyModel model;
    const cache::KvCache context = compressedContext(model);
    const std::size_t bytes = context.usedBytes();
    const Question longOne = prepareQuestion(model, "a long question of some length?", "!");
    const Question second = prepareQuestion(model, "second?", "!");
    EXPECT_EQ(longOne.ids.size(), 32U); // the tail belongs to it
    const Answer alone = askQuestion(model, context, second, sixTokens());
    askQuestion(model, context, longOne, sixTokens());
    const Answer after = askQuestion(model, context, second, sixTokens());
    EXPECT_EQ(after.tokenIds, alone.tokenIds);
    EXPECT_EQ(after.cache.keptLength, alone.cache.keptLength);
    EXPECT_EQ(context.usedBytes(), bytes);
    EXPECT_EQ(context.tokensSeen(), 30);
    // 3 kept + 8 of the question + the first token of the answer
    EXPECT_EQ(alone.cache.keptLength[0], 12);
    EXPECT_EQ(alone.cache.keptLength[1], 10);
}

TEST(QuestionRound, positionsGoOnBehindTheWholeContext) { // F017: 30, not 3
    ToyModel model;
    const cache::KvCache context = compressedContext(model);
    const Answer answer =
        askQuestion(model, context, prepareQuestion(model, "four", ""), sixTokens());
    // The toy answers the number of tokens seen modulo 7: 34 seen, then 35, ...
    EXPECT_EQ(answer.text.substr(0, 2), (std::string{'a' + 34 % 7, 'a' + 35 % 7}));
}

TEST(QuestionRound, aLongQuestionIsEvictedToTheDecodeBudgetToo) {
    ToyModel model;
    const cache::KvCache context = compressedContext(model);
    DecodeEvictionSetup setup;
    setup.policy.scorer = "streaming";
    setup.policy.budget = 8;
    setup.shape = {ToyModel::kLayers, ToyModel::kKvHeads, "toy"};
    setup.every = 3;
    DecodeEvictor evictor(setup);
    GenerationParams params = sixTokens();
    params.evictor = &evictor;
    const Question question = prepareQuestion(model, std::string(40, 'q'), "");
    const Answer answer = askQuestion(model, context, question, params);
    EXPECT_EQ(longestHead(answer.cache, 0), 8);
    EXPECT_EQ(longestHead(answer.cache, 2), 10);
    EXPECT_EQ(longestHead(answer.cache, 3), 8);
}

TEST(QuestionRound, emptyAndTooLongQuestionsAreRefused) {
    ToyModel model;
    try {
        prepareQuestion(model, "", "");
        FAIL() << "accepted a question without tokens";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Usage);
    }
    model.limitPositions(40); // F057
    const cache::KvCache context = compressedContext(model);
    try {
        askQuestion(model, context, prepareQuestion(model, "elevenchars", ""), sixTokens());
        FAIL() << "accepted positions the model was not made for";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        EXPECT_NE(error.message().find("41 positions"), std::string::npos) << error.message();
        EXPECT_NE(error.message().find("made for 40"), std::string::npos) << error.message();
    }
}

} // namespace ecokv::session
