#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Tokens that are found in the text before anything else happens to it ("<image>", "</s>"), with
// their flags: special, single_word, lstrip, rstrip, normalized (field case F112).

#include "base/ids.h"
#include "model/json_file.h"
#include "model/text/normalizer.h"
#include "model/text/pre_tokenizer.h"
#include "model/text/text_pattern.h"
#include "model/text/vocabulary.h"

#include <array>
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

/// All but the id, as tokenizer.json and tokenizer_config.json write it.
AddedToken readAddedToken(const JsonObject& object);

/// A stretch of text, or the added token that stands there.
struct TextPiece {
    Word word; ///< normalised, if no token
    std::optional<TokenId> token;
};

class AddedTokens {
public:
    /// added_tokens of a tokenizer.json, which says their ids.
    static std::vector<AddedToken> listOf(const JsonObject& root);
    AddedTokens() = default;
    explicit AddedTokens(std::vector<AddedToken> tokens);

    /// Adds `tokens` behind those there are: one that is known, in `vocabulary` or here, keeps its
    /// id and takes the new flags; another gets the next free id, whatever its own says.
    void add(std::vector<AddedToken> tokens, const Vocabulary& vocabulary);
    /// To be called once, when all are added.
    void prepare(const Normalizer& normalizer);

    /// Cuts out the tokens and normalises what lies between them.
    std::vector<TextPiece> split(std::string_view text, const Normalizer& normalizer) const;
    const std::vector<AddedToken>& all() const { return m_tokens; }
    const AddedToken* find(TokenId id) const; ///< null if the id is not of an added token
    std::optional<TokenId> find(std::string_view content) const;
    std::int32_t idEnd() const { return m_ids.idEnd(); } ///< largest id + 1

private:
    /// What is looked for in the raw or in the normalised text.
    class Patterns {
    public:
        /// Of equal patterns the first one counts.
        void add(const std::string& pattern, std::size_t token);
        struct Match {
            std::size_t length = 0; ///< bytes
            std::size_t token = 0;  ///< index in m_tokens
        };
        std::optional<Match> longestAt(std::string_view text, std::size_t at) const;
        bool empty() const { return m_patterns.size() == 0; }

    private:
        std::array<std::vector<std::size_t>, 256> m_lengths; ///< by first byte, longest first
        Vocabulary m_patterns;                               ///< pattern -> index in m_tokens
    };

    /// A token as it was first added: later flags change what it matches around itself, not where
    /// it is looked for. (So do the lists of `tokenizers`.)
    struct Listed {
        std::size_t token = 0; ///< index in m_tokens
        bool special = false, normalized = false;
    };

    void put(AddedToken token);
    TokenId nextId(const Vocabulary& vocabulary) const;
    void cut(const Word& text, const Patterns& patterns, std::vector<TextPiece>& pieces) const;
    bool standsAlone(std::string_view text, const TextSpan& span) const;

    std::vector<AddedToken> m_tokens;
    std::vector<Listed> m_listed;
    std::unordered_map<TokenId, std::size_t> m_byId; ///< index in m_tokens
    Vocabulary m_ids;                                ///< content -> id
    Patterns m_raw, m_normalized;
};

} // namespace ecokv::model
