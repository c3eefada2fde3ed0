// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/utf8.h"

#include <cstdint>

namespace ecokv::model {

namespace {

struct Lead {
    std::size_t length = 0; ///< 0: no lead byte
    std::uint8_t secondMin = 0x80, secondMax = 0xbf;
};

/// Table 3-7 of the Unicode standard: which second bytes may follow a lead byte.
Lead leadOf(std::uint8_t byte) {
    if (byte >= 0xc2 && byte <= 0xdf) {
        return {2};
    }
    if (byte >= 0xe0 && byte <= 0xef) {
        return {3, static_cast<std::uint8_t>(byte == 0xe0 ? 0xa0 : 0x80),
                static_cast<std::uint8_t>(byte == 0xed ? 0x9f : 0xbf)};
    }
    if (byte >= 0xf0 && byte <= 0xf4) {
        return {4, static_cast<std::uint8_t>(byte == 0xf0 ? 0x90 : 0x80),
                static_cast<std::uint8_t>(byte == 0xf4 ? 0x8f : 0xbf)};
    }
    return {};
}

} // namespace

Utf8Char utf8At(std::string_view text, std::size_t offset) {
    const auto byteAt = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t first = byteAt(offset);
    if (first < 0x80) {
        return {first, 1, true, false};
    }
    const Lead lead = leadOf(first);
    if (lead.length == 0) {
        return {};
    }
    char32_t codePoint = first & (0xffU >> (lead.length + 1));
    for (std::size_t i = 1; i < lead.length; ++i) {
        if (offset + i >= text.size()) {
            return {0xfffd, i, false, true};
        }
        const std::uint8_t byte = byteAt(offset + i);
        const std::uint8_t low = i == 1 ? lead.secondMin : 0x80;
        const std::uint8_t high = i == 1 ? lead.secondMax : 0xbf;
        if (byte < low || byte > high) {
            return {0xfffd, i, false, false};
        }
        codePoint = codePoint << 6 | (byte & 0x3fU);
    }
    return {codePoint, lead.length, true, false};
}

void appendUtf8(std::string& text, char32_t c) {
    const auto push = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
        push(c);
    } else if (c < 0x800) {
        push(0xc0 | c >> 6);
        push(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        push(0xe0 | c >> 12);
        push(0x80 | (c >> 6 & 0x3f));
        push(0x80 | (c & 0x3f));
    } else {
        push(0xf0 | c >> 18);
        push(0x80 | (c >> 12 & 0x3f));
        push(0x80 | (c >> 6 & 0x3f));
        push(0x80 | (c & 0x3f));
    }
}

bool isValidUtf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const Utf8Char c = utf8At(text, i);
        if (!c.valid) {
            return false;
        }
        i += c.length;
    }
    return true;
}

std::string sanitizeUtf8(std::string_view text) {
    if (isValidUtf8(text)) {
        return std::string(text);
    }
    std::string clean;
    clean.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const Utf8Char c = utf8At(text, i);
        if (c.valid) {
            clean.append(text.substr(i, c.length));
        } else {
            appendUtf8(clean, 0xfffd);
        }
        i += c.length;
    }
    return clean;
}

} // namespace ecokv::model
