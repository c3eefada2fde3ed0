// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/byte_alphabet.h"

#include "model/text/utf8.h"

#include <array>
#include <cstdint>

namespace ecokv::model {

namespace {

constexpr std::size_t kAlphabetEnd = 0x144; // one behind the last character in use

struct Tables {
    std::array<std::string, 256> ofByte;
    std::array<std::int16_t, kAlphabetEnd> ofCharacter{}; ///< byte, -1 = none
};

bool isPrintable(int byte) {
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

const Tables& tables() {
    static const Tables kTables = [] {
        Tables t;
        t.ofCharacter.fill(-1);
        char32_t next = 0x100;
        for (int byte = 0; byte < 256; ++byte) {
            const char32_t c = isPrintable(byte) ? static_cast<char32_t>(byte) : next++;
            appendUtf8(t.ofByte[static_cast<std::size_t>(byte)], c);
            t.ofCharacter[c] = static_cast<std::int16_t>(byte);
        }
        return t;
    }();
    return kTables;
}

} // namespace

std::string bytesToAlphabet(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const char byte : bytes) {
        text += tables().ofByte[static_cast<std::uint8_t>(byte)];
    }
    return text;
}

std::optional<std::string> alphabetToBytes(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size();) {
        const Utf8Char c = utf8At(text, i);
        if (!c.valid || c.codePoint >= kAlphabetEnd || tables().ofCharacter[c.codePoint] < 0) {
            return std::nullopt;
        }
        bytes.push_back(static_cast<char>(tables().ofCharacter[c.codePoint]));
        i += c.length;
    }
    return bytes;
}

} // namespace ecokv::model
