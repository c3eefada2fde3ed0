#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The sentence with which something refuses bad input. For tests.

#include "base/error.h"

#include <gtest/gtest.h>

#include <string>

namespace ecokv::model {

/// Runs `work`, which must throw Error{BadInput}; gives its whole text.
template <class Work> std::string refusal(Work work) {
    try {
        work();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        return error.what();
    }
    ADD_FAILURE() << "bad input was accepted";
    return {};
}

} // namespace ecokv::model

/// The sentence must hold `part`.
#define EXPECT_SAYS(sentence, part)                                                                \
    EXPECT_NE((sentence).find(part), std::string::npos) << "said: " << (sentence)
