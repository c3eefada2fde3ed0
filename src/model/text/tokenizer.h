#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Byte-level BPE as described by tokenizer.json: added tokens, normaliser, pre-tokeniser, merges,
// post-processor, decoder. Parts we do not know are refused by name, never guessed. Immutable once
// opened; encode and decode may be called from any thread.

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
    /// Reads FOLDER/tokenizer.json and, if there, tokenizer_config.json (names of bos, eos, ...).
    static Tokenizer open(const std::filesystem::path& folder);
    static Tokenizer fromJson(std::string_view tokenizerJson, const std::string& origin);
    ~Tokenizer();
    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer& operator=(Tokenizer&&) noexcept;

    /// UTF-8 text to ids; `addSpecialTokens` runs the post-processor's template (field case F113).
    /// Invalid UTF-8 is replaced by U+FFFD first, as Python's decoder would.
    std::vector<TokenId> encode(std::string_view text, bool addSpecialTokens) const;
    /// Ids to valid UTF-8; broken sequences become U+FFFD. Throws on ids outside the vocabulary.
    std::string decode(const std::vector<TokenId>& ids, bool skipSpecialTokens) const;
    /// The raw bytes an id stands for, which need not be complete characters.
    std::string tokenBytes(TokenId id) const;

    std::optional<TokenId> find(std::string_view token) const; ///< as written in the vocabulary
    std::string tokenString(TokenId id) const;                 ///< as written in the vocabulary
    bool knows(TokenId id) const;                              ///< ids between others may be unused
    bool isSpecial(TokenId id) const;
    std::int32_t size() const;         ///< largest id + 1
    const std::string& origin() const; ///< path of tokenizer.json

private:
    struct Data;
    explicit Tokenizer(std::unique_ptr<const Data> data);
    std::unique_ptr<const Data> m_data;
};

/// Streams text while ids arrive: bytes of an incomplete character wait for the next id (F118).
class StreamDecoder {
public:
    explicit StreamDecoder(const Tokenizer& tokenizer, bool skipSpecialTokens = true);
    /// Text that became complete with this id; may be empty.
    std::string push(TokenId id);
    /// What is left, broken bytes as U+FFFD.
    std::string finish();

private:
    const Tokenizer& m_tokenizer;
    bool m_skipSpecial;
    std::string m_pending;
};

} // namespace ecokv::model
