// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/steps/precompiled_map.h"

#include "base/error.h"
#include "model/text/unicode.h"
#include "model/text/utf8.h"

#include <algorithm>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

/// One unit of a darts-clone double array.
struct Unit {
    std::uint32_t bits = 0;

    bool hasLeaf() const { return (bits >> 8 & 1U) != 0; }
    std::uint32_t value() const { return bits & 0x7fffffffU; }
    std::uint32_t label() const { return bits & 0x800000ffU; }
    std::uint32_t offset() const { return (bits >> 10) << ((bits & 0x200U) >> 6); }
};

std::optional<std::string> decodeBase64(std::string_view text) {
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    std::uint32_t bits = 0;
    int count = 0;
    while (text.ends_with('=')) {
        text.remove_suffix(1);
    }
    for (const char c : text) {
        const std::size_t value = kAlphabet.find(c);
        if (value == std::string_view::npos) {
            return std::nullopt;
        }
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes.push_back(static_cast<char>(bits >> count & 0xffU));
        }
    }
    return bytes;
}

std::uint32_t littleEndianAt(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        value |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[at + i])) << (8 * i);
    }
    return value;
}

} // namespace

PrecompiledMap PrecompiledMap::fromJson(const JsonObject& step) {
    const auto bytes = decodeBase64(step.string("precompiled_charsmap", ""));
    const std::size_t size = bytes && bytes->size() >= 4 ? littleEndianAt(*bytes, 0) : 0;
    if (size == 0 || size % 4 != 0 || size > bytes->size() - 4 ||
        !isValidUtf8(std::string_view(*bytes).substr(4 + size))) {
        throwBadInput(fmt::format("{} is not a table of replacements in base64.",
                                  step.where("precompiled_charsmap")),
                      "Download the file again.");
    }
    PrecompiledMap map;
    for (std::size_t at = 4; at < 4 + size; at += 4) {
        map.m_units.push_back(littleEndianAt(*bytes, at));
    }
    map.m_texts = bytes->substr(4 + size);
    return map;
}

std::optional<std::string_view> PrecompiledMap::replacementOf(std::string_view part) const {
    std::size_t node = Unit{m_units[0]}.offset();
    for (const char byte : part) {
        const auto label = static_cast<std::uint8_t>(byte);
        node ^= label;
        if (label == 0 || node >= m_units.size() || Unit{m_units[node]}.label() != label) {
            return std::nullopt;
        }
        const Unit unit{m_units[node]};
        node ^= unit.offset();
        if (unit.hasLeaf()) {
            const std::size_t begin =
                node < m_units.size() ? Unit{m_units[node]}.value() : m_texts.size();
            const std::string_view text =
                std::string_view(m_texts).substr(std::min(begin, m_texts.size()));
            return text.substr(0, text.find('\0'));
        }
    }
    return std::nullopt;
}

void PrecompiledMap::appendGrapheme(std::string_view grapheme, std::string& result) const {
    constexpr std::size_t kLongest = 5; // bytes of a cluster that is looked up as a whole
    if (grapheme.size() <= kLongest) {
        if (const auto whole = replacementOf(grapheme)) {
            result += *whole;
            return;
        }
    }
    for (std::size_t i = 0; i < grapheme.size();) {
        const std::string_view character = grapheme.substr(i, utf8At(grapheme, i).length);
        result += replacementOf(character).value_or(character);
        i += character.size();
    }
}

std::string PrecompiledMap::apply(std::string_view text) const {
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = graphemeLength(text);
        appendGrapheme(text.substr(0, length), result);
        text.remove_prefix(length);
    }
    return result;
}

} // namespace ecokv::model
