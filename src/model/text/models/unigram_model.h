#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Unigram of SentencePiece (T5, XLM-R): of all ways to write a word in tokens, the one with the
// largest sum of scores. A character without token costs the lowest score - 10; a row of them is
// one unknown token, or its bytes. Immutable.

#include "model/text/models/byte_tokens.h"
#include "model/text/models/piece_trie.h"
#include "model/text/models/token_model.h"

#include <optional>
#include <string>
#include <vector>

namespace ecokv::model {

class UnigramModel : public TokenModel {
public:
    UnigramModel(const JsonObject& model, const TokenizerFile& file);

    void encodeWord(std::string_view word, std::vector<TokenId>& ids) const override;
    const Vocabulary& vocabulary() const override { return m_vocabulary; }

private:
    /// The last token of the best way to write the text up to some byte.
    struct Step {
        static constexpr std::size_t kUnreached = ~std::size_t{0};
        double score = 0.0; ///< of the whole way
        std::size_t begin = kUnreached;
        TokenId id = 0;
    };

    void readVocabulary(const JsonObject& model, std::string_view text);
    std::vector<Step> bestSteps(std::string_view word) const;
    TokenId unknownFor(std::string_view text) const;
    void appendPiece(std::string_view piece, std::vector<TokenId>& ids) const;

    Vocabulary m_vocabulary;
    PieceTrie m_trie;
    std::vector<double> m_scores; ///< by id
    double m_unknownScore = 0.0;
    std::optional<TokenId> m_unknown;
    ByteTokens m_byteTokens;
    std::string m_origin;
};

} // namespace ecokv::model
