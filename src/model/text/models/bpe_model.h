#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// BPE of a tokenizer.json: byte-level (words are written in the byte alphabet) or
// SentencePiece-style (words are plain text, and bytes stand in for characters that have no token).
// Merges come as strings or as pairs (field cases F103, F104); `ignore_merges` lets whole words of
// the vocabulary win (F105). Immutable.

#include "model/text/models/byte_tokens.h"
#include "model/text/models/merge_table.h"
#include "model/text/models/token_model.h"

#include <optional>
#include <utility>

namespace ecokv::model {

class BpeModel : public TokenModel {
public:
    BpeModel(const JsonObject& model, const TokenizerFile& file);

    void encodeWord(std::string_view word, std::vector<TokenId>& ids) const override;
    const Vocabulary& vocabulary() const override { return m_vocabulary; }

private:
    using Parts = std::pair<std::string_view, std::string_view>;

    void readVocabulary(const JsonObject& model, std::string_view text);
    void readMerges(const JsonObject& model, const TokenizerFile& file);
    void refuseMissingMerges(const JsonObject& model, const Json& file) const;
    void addMerge(const Parts& parts, const JsonObject& model);
    Parts splitMerge(std::string_view text, const JsonObject& model) const;
    void appendCharacters(std::string_view word, std::vector<TokenId>& ids) const;

    Vocabulary m_vocabulary;
    MergeTable m_merges;
    ByteTokens m_byteTokens;
    std::optional<TokenId> m_unknown;
    bool m_byteFallback = false;
    bool m_fuseUnknown = false;
    bool m_ignoreMerges = false;
};

} // namespace ecokv::model
