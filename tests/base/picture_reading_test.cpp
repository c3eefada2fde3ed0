// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/picture_reading.h"

#include "base/error.h"

#include <gtest/gtest.h>

namespace ecokv {

TEST(Colour, namesAndHexadecimalNumbersAreRead) {
    EXPECT_EQ(parseColour("white"), (RgbColour{255, 255, 255}));
    EXPECT_EQ(parseColour("black"), (RgbColour{0, 0, 0}));
    EXPECT_EQ(parseColour("#01aBff"), (RgbColour{1, 171, 255}));
    EXPECT_EQ(colourText({1, 171, 255}), "#01abff");
}

TEST(Colour, othersAreRefusedWithWhatIsKnown) {
    for (const char* text : {"", "red", "#fff", "#12345", "#1234567", "#12345g", "#0x1234",
                             "#-1234", "1234567", "# 12345"}) {
        try {
            parseColour(text);
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::Usage);
            EXPECT_NE(error.message().find(text), std::string::npos);
            EXPECT_NE(error.advice().find("#rrggbb"), std::string::npos);
        }
    }
}

} // namespace ecokv
