// SPDX-License-Identifier: GPL-3.0-or-later
// Prompt + answer against the positions a model was made for; every number by hand.
#include "session/context_limit.h"

#include <gtest/gtest.h>

namespace ecokv::session {

TEST(ContextLimit, isSilentWhereTheAnswerFits) {
    EXPECT_EQ(mayPassContext({200, 56, 256}), ""); // exactly
    EXPECT_EQ(passedContext({200, 56, 256}), "");
    EXPECT_EQ(mayPassContext({200, 1000, 0}), ""); // not known
}

TEST(ContextLimit, namesTheNumbersBeforeAndTheTokenAfter) {
    EXPECT_EQ(
        mayPassContext({200, 64, 256}).substr(0, 83),
        "200 tokens of prompt and up to 64 of the answer are 264, but the model was made for");
    EXPECT_NE(mayPassContext({200, 64, 256}).find("256 (max_position_embeddings)"),
              std::string::npos);
    // Tokens 200 to 255 have positions the model knows: the first 56 of the answer.
    EXPECT_NE(passedContext({200, 57, 256})
                  .find("256 positions the model was made for from its "
                        "token 56 on"),
              std::string::npos);
}

} // namespace ecokv::session
