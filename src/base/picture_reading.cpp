// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/picture_reading.h"

#include "base/error.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace ecokv {

RgbColour parseColour(const std::string& text) {
    if (text == "white") {
        return {255, 255, 255};
    }
    if (text == "black") {
        return {0, 0, 0};
    }
    constexpr std::size_t kLength = 7; // #rrggbb
    std::uint32_t value = 0;
    const char* const end = text.data() + text.size();
    const bool known = text.size() == kLength && text.front() == '#' &&
                       std::from_chars(text.data() + 1, end, value, 16).ptr == end;
    if (!known) {
        throwUsage(fmt::format("The colour \"{}\" is not known.", text),
                   "Use white, black or #rrggbb, for example #f0f0f0.");
    }
    const auto channel = [&](unsigned shift) {
        return static_cast<std::uint8_t>((value >> shift) & 0xFFU);
    };
    return {channel(16), channel(8), channel(0)};
}

std::string colourText(const RgbColour& colour) {
    return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

} // namespace ecokv
