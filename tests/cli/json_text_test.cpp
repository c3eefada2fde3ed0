// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/json_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace ecokv::cli {

TEST(JsonText, whatIsNoNumberBecomesNull) {
    EXPECT_EQ(jsonNumber(0.25).dump(), "0.25");
    EXPECT_TRUE(jsonNumber(std::numeric_limits<double>::quiet_NaN()).is_null());
    EXPECT_TRUE(jsonNumber(-std::numeric_limits<double>::infinity()).is_null());
}

TEST(JsonText, isOneLineAndValidUtf8WhateverTheBytes) {
    EXPECT_EQ(jsonText({{"path", "a\xFF\n"}}), "{\"path\":\"a\xEF\xBF\xBD\\n\"}");
}

} // namespace ecokv::cli
