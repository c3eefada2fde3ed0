#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A tokenizer as its tokenizer.json describes it: added tokens, normaliser, pre-tokeniser, model
// (BPE or Unigram), post-processor, decoder. Parts we do not know are refused by name, never
// guessed. Immutable once opened; encode and decode may be called from any thread.

#include "base/ids.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ecokv::model {

class Tokenizer {
public:
    /// Reads FOLDER/tokenizer.json, and special tokens from the files beside it.
    static Tokenizer open(const std::filesystem::path& folder);
    /// Of a tokenizer.json alone.
    static Tokenizer fromJson(std::string_view tokenizerJson, const std::string& origin);
    ~Tokenizer();
    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer& operator=(Tokenizer&&) noexcept;

    /// UTF-8 text to ids; `addSpecialTokens` runs the post-processor's template (field case F113).
    /// Invalid UTF-8 is replaced by U+FFFD first, as Python's decoder would.
    std::vector<TokenId> encode(std::string_view text, bool addSpecialTokens) const;
    /// Ids to valid UTF-8; broken sequences become U+FFFD. Throws on ids outside the vocabulary.
    std::string decode(const std::vector<TokenId>& ids, bool skipSpecialTokens) const;
    /// The same for ids that follow others: a space in front of the first one stays.
    std::string decodeFollowing(const std::vector<TokenId>& ids, bool skipSpecialTokens) const;
    /// The raw bytes an id stands for inside a text, which need not be complete characters: "▁the"
    /// is " the" and "<0xE4>" one byte. A space that encoding puts in front of a text is part of
    /// the first token's bytes, though the text does not have it (token_spans.h takes care of
    /// that).
    std::string tokenBytes(TokenId id) const;

    std::optional<TokenId> find(std::string_view token) const; ///< as written in the vocabulary
    std::string tokenString(TokenId id) const;                 ///< as written in the vocabulary
    bool knows(TokenId id) const;                              ///< ids between others may be unused
    bool isSpecial(TokenId id) const;
    bool isAdded(TokenId id) const;    ///< found in the text as a whole ("<image>"), special or not
    std::int32_t size() const;         ///< largest id + 1
    const std::string& origin() const; ///< path of tokenizer.json

private:
    struct Data;
    explicit Tokenizer(std::unique_ptr<const Data> data);
    static std::unique_ptr<Data> read(std::string_view tokenizerJson, const std::string& origin);
    static Tokenizer finish(std::unique_ptr<Data> data);
    std::vector<std::string> tokensOf(const std::vector<TokenId>& ids, bool skipSpecial) const;

    std::unique_ptr<const Data> m_data;
};

} // namespace ecokv::model
