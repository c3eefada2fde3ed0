#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Byte fallback of SentencePiece: what the vocabulary cannot spell is written as one token per
// byte,
// "<0x00>" to "<0xFF>".

#include "model/text/vocabulary.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ecokv::model {

/// The byte that "<0x0A>" stands for; nothing for any other token.
std::optional<char> byteOfToken(std::string_view token);

class ByteTokens {
public:
    ByteTokens() = default; ///< no fallback
    explicit ByteTokens(const Vocabulary& vocabulary);

    /// Appends one id for each byte; false, and nothing appended, if one of them has no token.
    bool append(std::string_view bytes, std::vector<TokenId>& ids) const;

private:
    static constexpr TokenId kNone = -1;
    std::optional<std::array<TokenId, 256>> m_ids;
};

} // namespace ecokv::model
