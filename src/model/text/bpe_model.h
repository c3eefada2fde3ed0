#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Vocabulary and merges of a BPE tokenizer.json. Merges come as strings or as pairs (field cases
// F103, F104); `ignore_merges` lets whole words of the vocabulary win (F105). Immutable.

#include "base/ids.h"
#include "model/json_file.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ecokv::model {

class BpeModel {
public:
    static BpeModel fromJson(const JsonObject& model);

    /// Appends the ids of one word, written in the byte alphabet.
    void encodeWord(std::string_view word, std::vector<TokenId>& ids) const;

    std::optional<TokenId> find(std::string_view token) const;
    const std::unordered_map<std::string, TokenId>& vocabulary() const { return m_vocabulary; }

private:
    struct Merge {
        std::int32_t rank = 0;
        TokenId result = 0;
    };
    struct Symbol;
    struct Candidate;

    void readVocabulary(const JsonObject& model);
    void readMerges(const JsonObject& model);
    void addMerge(const std::pair<std::string, std::string>& parts, const JsonObject& model);
    std::pair<std::string, std::string> splitMerge(const std::string& text,
                                                   const JsonObject& model) const;
    std::vector<Symbol> symbolsOf(std::string_view word) const;
    void merge(std::vector<Symbol>& symbols) const;
    const Merge* findMerge(TokenId left, TokenId right) const;

    std::unordered_map<std::string, TokenId> m_vocabulary;
    std::unordered_map<std::uint64_t, Merge> m_merges; ///< key: left id << 32 | right id
    std::optional<TokenId> m_unknown;
    bool m_fuseUnknown = false;
    bool m_ignoreMerges = false;
    std::string m_origin;
};

} // namespace ecokv::model
