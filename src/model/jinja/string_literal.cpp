// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/string_literal.h"

#include "model/text/utf8.h"

#include <charconv>

namespace ecokv::jinja {

namespace {

/// \xHH, \uHHHH or \UHHHHHHHH; `at` stands behind the letter.
void readCodePoint(const std::string& source, std::size_t& at, std::size_t digits,
                   Position position, std::string& text) {
    std::uint32_t code = 0;
    const char* begin = source.data() + at;
    const std::size_t available = std::min(digits, source.size() - at);
    const auto [end, error] = std::from_chars(begin, begin + available, code, 16);
    if (error != std::errc() || end != begin + digits || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000)) {
        throw TemplateError("a string holds a broken escape", position);
    }
    model::appendUtf8(text, code);
    at += digits;
}

/// Up to three digits, of which the first is there.
void readOctal(const std::string& source, std::size_t& at, std::string& text) {
    std::uint32_t code = 0;
    const char* begin = source.data() + at;
    const std::size_t available = std::min<std::size_t>(3, source.size() - at);
    const auto [end, error] = std::from_chars(begin, begin + available, code, 8);
    model::appendUtf8(text, code);
    at += static_cast<std::size_t>(end - begin);
}

void readEscape(const std::string& source, std::size_t& at, Position position, std::string& text) {
    const char c = source[at++];
    switch (c) {
    case 'n':
        text += '\n';
        break;
    case 't':
        text += '\t';
        break;
    case 'r':
        text += '\r';
        break;
    case 'a':
        text += '\a';
        break;
    case 'b':
        text += '\b';
        break;
    case 'f':
        text += '\f';
        break;
    case 'v':
        text += '\v';
        break;
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
        --at;
        readOctal(source, at, text);
        break;
    case 'x':
        readCodePoint(source, at, 2, position, text);
        break;
    case 'u':
        readCodePoint(source, at, 4, position, text);
        break;
    case 'U':
        readCodePoint(source, at, 8, position, text);
        break;
    case '\n':
        break; // the line goes on
    case '\\':
    case '\'':
    case '"':
        text += c;
        break;
    default: // Python keeps the backslash of an escape it does not know
        text += '\\';
        text += c;
    }
}

} // namespace

std::string readStringLiteral(const std::string& source, std::size_t& at, Position position) {
    const char quote = source[at++];
    std::string text;
    while (at < source.size() && source[at] != quote) {
        const char c = source[at++];
        if (c == '\\' && at < source.size()) {
            readEscape(source, at, position, text);
        } else {
            text += c;
        }
    }
    if (at >= source.size()) {
        throw TemplateError("a string is never closed", position);
    }
    ++at;
    return text;
}

} // namespace ecokv::jinja
