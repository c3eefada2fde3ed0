// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/unicode.h"

#include "base/error.h"
#include "model/text/utf8.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>
#include <utf8proc.h>

namespace ecokv::model {

namespace {

utf8proc_category_t categoryOf(char32_t c) {
    return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

utf8proc_option_t optionsOf(UnicodeForm form) {
    const bool composes = form == UnicodeForm::Nfc || form == UnicodeForm::Nfkc;
    const bool compatible = form == UnicodeForm::Nfkc || form == UnicodeForm::Nfkd;
    return static_cast<utf8proc_option_t>(UTF8PROC_STABLE |
                                          (composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                          (compatible ? UTF8PROC_COMPAT : 0));
}

} // namespace

bool isWhiteSpace(char32_t c) {
    return (c >= 0x9 && c <= 0xd) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

bool isNumeric(char32_t c) {
    const auto category = categoryOf(c);
    return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool isPunctuation(char32_t c) {
    const bool sign = c > 0x20 && c < 0x7f && !(c >= '0' && c <= '9') &&
                      !((c | 0x20U) >= 'a' && (c | 0x20U) <= 'z');
    const auto category = categoryOf(c);
    return sign || (category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO);
}

bool isMark(char32_t c) {
    const auto category = categoryOf(c);
    return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool isNonspacingMark(char32_t c) {
    return categoryOf(c) == UTF8PROC_CATEGORY_MN;
}

bool isOther(char32_t c) {
    return categoryOf(c) >= UTF8PROC_CATEGORY_CC;
}

void appendLower(std::string& text, char32_t c) {
    if (c == 0x130) { // the one character that becomes two
        text += "i\u0307";
        return;
    }
    appendUtf8(text, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

bool isAscii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string toForm(const std::string& text, UnicodeForm form) {
    if (isAscii(text)) {
        return text;
    }
    utf8proc_uint8_t* result = nullptr;
    const auto length =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                     static_cast<utf8proc_ssize_t>(text.size()), &result, optionsOf(form));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(result, &std::free);
    if (length < 0) {
        throwBadInput(fmt::format("The text cannot be brought into a Unicode normal form: {}.",
                                  utf8proc_errmsg(length)),
                      "Shorten the text, or remove its unusual characters.");
    }
    return {reinterpret_cast<const char*>(result), static_cast<std::size_t>(length)};
}

std::size_t graphemeLength(std::string_view text) {
    utf8proc_int32_t state = 0;
    Utf8Char previous = utf8At(text, 0);
    std::size_t end = previous.length;
    while (end < text.size()) {
        const Utf8Char next = utf8At(text, end);
        if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous.codePoint),
                                             static_cast<utf8proc_int32_t>(next.codePoint),
                                             &state)) {
            break;
        }
        end += next.length;
        previous = next;
    }
    return end;
}

std::size_t lastCharacter(std::string_view text) {
    std::size_t at = text.size();
    do {
        --at;
    } while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U);
    return at;
}

std::size_t leadingWhiteSpace(std::string_view text) {
    std::size_t length = 0;
    while (length < text.size()) {
        const Utf8Char c = utf8At(text, length);
        if (!isWhiteSpace(c.codePoint)) {
            break;
        }
        length += c.length;
    }
    return length;
}

std::size_t trailingWhiteSpace(std::string_view text) {
    std::size_t begin = text.size();
    while (begin > 0) {
        const std::size_t last = lastCharacter(text.substr(0, begin));
        if (!isWhiteSpace(utf8At(text, last).codePoint)) {
            break;
        }
        begin = last;
    }
    return text.size() - begin;
}

} // namespace ecokv::model
