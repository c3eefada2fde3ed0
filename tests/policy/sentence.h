#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Refusals as tests see them: the kind of the error and the words its sentence must hold.

#include "base/error.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ecokv::policy::test {

/// Runs `call`, which must throw an Error of `kind` whose text (with advice) holds all `words`.
template <class Call>
void expectRefusal(ErrorKind kind, const std::vector<std::string>& words, Call&& call) {
    try {
        call();
        FAIL() << "nothing was refused";
    } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_EQ(error.kind(), kind) << text;
        EXPECT_EQ(text.back(), '.') << text;
        for (const std::string& word : words) {
            EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' not in: " << text;
        }
    }
}

} // namespace ecokv::policy::test
