// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/characters.h"

#include "model/jinja/template_error.h"
#include "model/text/utf8.h"

#include <algorithm>
#include <ranges>

#include <utf8proc.h>

namespace ecokv::jinja {

namespace {

template <class Visit> void forEachCharacter(std::string_view text, Visit visit) {
    for (std::size_t i = 0; i < text.size();) {
        const model::Utf8Char c = model::utf8At(text, i);
        visit(c.codePoint, text.substr(i, c.length));
        i += c.length;
    }
}

constexpr std::int64_t kMaxRepeat = 1'000'000; // bytes

char32_t upper(char32_t c) {
    return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)));
}

char32_t lower(char32_t c) {
    return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

} // namespace

std::vector<std::string> splitCharacters(std::string_view text) {
    std::vector<std::string> characters;
    forEachCharacter(text,
                     [&](char32_t, std::string_view bytes) { characters.emplace_back(bytes); });
    return characters;
}

std::int64_t countCharacters(std::string_view text) {
    std::int64_t count = 0;
    forEachCharacter(text, [&](char32_t, std::string_view) { ++count; });
    return count;
}

bool isSpace(char32_t c) {
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

bool isLetter(char32_t c) {
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool isDigit(char32_t c) {
    return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_ND;
}

bool isPrintable(char32_t c) {
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
    const bool separates = category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP;
    const bool other = category >= UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CN;
    return c == ' ' || (!separates && !other);
}

std::string toUpper(std::string_view text) {
    std::string result;
    forEachCharacter(text, [&](char32_t c, std::string_view) {
        if (c == 0xdf) {
            result += "SS"; // the one common letter that becomes two
        } else {
            model::appendUtf8(result, upper(c));
        }
    });
    return result;
}

std::string toLower(std::string_view text) {
    std::string result;
    forEachCharacter(text,
                     [&](char32_t c, std::string_view) { model::appendUtf8(result, lower(c)); });
    return result;
}

std::string toTitle(std::string_view text) {
    std::string result;
    bool inside = false;
    forEachCharacter(text, [&](char32_t c, std::string_view) {
        model::appendUtf8(result, inside ? lower(c) : upper(c));
        inside = isLetter(c);
    });
    return result;
}

std::string capitalize(std::string_view text) {
    std::string result;
    bool first = true;
    forEachCharacter(text, [&](char32_t c, std::string_view) {
        model::appendUtf8(result, first ? upper(c) : lower(c));
        first = false;
    });
    return result;
}

std::string swapCase(std::string_view text) {
    std::string result;
    forEachCharacter(text, [&](char32_t c, std::string_view bytes) {
        result += lower(c) != c ? toLower(bytes) : toUpper(bytes);
    });
    return result;
}

std::string reversed(std::string_view text) {
    std::string result;
    for (const std::string& character : splitCharacters(text) | std::views::reverse) {
        result += character;
    }
    return result;
}

std::string repeatText(const std::string& text, std::int64_t times) {
    if (times > 0 && std::ssize(text) > kMaxRepeat / times) {
        throw TemplateError("a repetition is too long");
    }
    std::string result;
    for (std::int64_t i = 0; i < times; ++i) {
        result += text;
    }
    return result;
}

std::string centerText(const std::string& text, std::int64_t width, const std::string& fill) {
    const std::int64_t missing = std::max<std::int64_t>(0, width - countCharacters(text));
    const std::int64_t left = missing / 2 + (missing & width & 1); // Python's rounding
    return repeatText(fill, left) + text + repeatText(fill, missing - left);
}

std::string strip(std::string_view text, StripSides sides, const std::string* set) {
    const auto characters = splitCharacters(text);
    const auto wanted = set != nullptr ? splitCharacters(*set) : std::vector<std::string>();
    const auto drops = [&](const std::string& character) {
        return set != nullptr ? std::ranges::find(wanted, character) != wanted.end()
                              : isSpace(model::utf8At(character, 0).codePoint);
    };
    std::size_t begin = 0;
    std::size_t end = characters.size();
    while (sides.left && begin < end && drops(characters[begin])) {
        ++begin;
    }
    while (sides.right && end > begin && drops(characters[end - 1])) {
        --end;
    }
    std::string result;
    for (std::size_t i = begin; i < end; ++i) {
        result += characters[i];
    }
    return result;
}

std::string replaceAll(std::string_view text, std::string_view from, std::string_view to,
                       std::int64_t limit) {
    std::string result;
    if (from.empty()) { // Python puts `to` around every character
        std::int64_t done = 0;
        const auto insert = [&] {
            if (limit < 0 || done++ < limit) {
                result += to;
            }
        };
        insert();
        forEachCharacter(text, [&](char32_t, std::string_view bytes) {
            result += bytes;
            insert();
        });
        return result;
    }
    std::size_t at = 0;
    while (limit != 0) {
        const std::size_t found = text.find(from, at);
        if (found == std::string_view::npos) {
            break;
        }
        result += text.substr(at, found - at);
        result += to;
        at = found + from.size();
        --limit;
    }
    result += text.substr(at);
    return result;
}

} // namespace ecokv::jinja
