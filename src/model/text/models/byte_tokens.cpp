// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/models/byte_tokens.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

constexpr std::string_view kBegin = "<0x";

} // namespace

std::optional<char> byteOfToken(std::string_view token) {
    if (token.size() != 6 || !token.starts_with(kBegin) || token.back() != '>') {
        return std::nullopt;
    }
    std::uint8_t byte = 0;
    const char* end = token.data() + 5;
    const auto [stopped, error] = std::from_chars(token.data() + kBegin.size(), end, byte, 16);
    return stopped == end && error == std::errc{} ? std::optional(static_cast<char>(byte))
                                                  : std::nullopt;
}

ByteTokens::ByteTokens(const Vocabulary& vocabulary) : m_ids(std::in_place) {
    for (std::size_t byte = 0; byte < m_ids->size(); ++byte) {
        (*m_ids)[byte] = vocabulary.find(fmt::format("<0x{:02X}>", byte)).value_or(kNone);
    }
}

bool ByteTokens::append(std::string_view bytes, std::vector<TokenId>& ids) const {
    const auto idOf = [&](char byte) { return (*m_ids)[static_cast<std::uint8_t>(byte)]; };
    if (!m_ids || !std::ranges::all_of(bytes, [&](char byte) { return idOf(byte) != kNone; })) {
        return false;
    }
    std::ranges::transform(bytes, std::back_inserter(ids), idOf);
    return true;
}

} // namespace ecokv::model
