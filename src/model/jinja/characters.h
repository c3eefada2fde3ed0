#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Strings as Python sees them: sequences of code points, with its notions of white space and case.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ecokv::jinja {

/// One string per code point.
std::vector<std::string> splitCharacters(std::string_view text);
std::int64_t countCharacters(std::string_view text);
/// What str.isspace() accepts.
bool isSpace(char32_t codePoint);
bool isLetter(char32_t codePoint);
bool isDigit(char32_t codePoint); ///< of any script
/// What repr() writes as it is.
bool isPrintable(char32_t codePoint);

std::string toUpper(std::string_view text);
std::string toLower(std::string_view text);
std::string toTitle(std::string_view text);
std::string capitalize(std::string_view text);
std::string swapCase(std::string_view text);
std::string reversed(std::string_view text);
/// Empty for `times` below 1; throws TemplateError if the result is long enough to be an attack.
std::string repeatText(const std::string& text, std::int64_t times);
/// str.center()
std::string centerText(const std::string& text, std::int64_t width, const std::string& fill);

struct StripSides {
    bool left = true, right = true;
};
/// Removes characters of `set` (white space if null) from the ends.
std::string strip(std::string_view text, StripSides sides, const std::string* set = nullptr);
std::string replaceAll(std::string_view text, std::string_view from, std::string_view to,
                       std::int64_t limit = -1);

} // namespace ecokv::jinja
