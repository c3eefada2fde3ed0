#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Tokens that are found in the text before anything else happens to it ("<image>", "</s>"), with
// the flags of tokenizer.json: special, single_word, lstrip, rstrip, normalized (field case F112).

#include "base/ids.h"
#include "model/json_file.h"
#include "model/text/normalizer.h"
#include "model/text/text_pattern.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ecokv::model {

struct AddedToken {
    TokenId id = 0;
    std::string content;
    bool special = false, singleWord = false, stripsLeft = false, stripsRight = false;
    bool normalized = false; ///< looked for in the normalised text
};

/// A stretch of text, or the added token that stands there.
struct TextPiece {
    std::string text; ///< normalised, if no token
    std::optional<TokenId> token;
};

class AddedTokens {
public:
    static AddedTokens fromJson(const JsonObject& root, const Normalizer& normalizer);

    /// Cuts out the tokens and normalises what lies between them.
    std::vector<TextPiece> split(std::string_view text, const Normalizer& normalizer) const;
    const std::vector<AddedToken>& all() const { return m_tokens; }

private:
    using Buckets = std::unordered_map<char, std::vector<std::pair<std::string, std::size_t>>>;

    void cut(std::string_view text, const Buckets& buckets, std::vector<TextPiece>& pieces) const;
    bool standsAlone(std::string_view text, const TextSpan& span) const;

    std::vector<AddedToken> m_tokens;
    Buckets m_raw, m_normalized; ///< by first byte; longest first
};

} // namespace ecokv::model
