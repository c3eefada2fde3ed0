#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The merges of a BPE tokenizer and their application: the lowest rank first, the leftmost among
// equals, in O(n log n) of the word's length. Applying is thread-safe.

#include "base/ids.h"
#include "model/text/flat_map.h"

#include <cstdint>
#include <vector>

namespace ecokv::model {

class MergeTable {
public:
    void reserve(std::size_t count) { m_merges.reserve(count); }
    /// Ranks follow the order of the calls; a pair given again takes the later rank.
    void add(TokenId left, TokenId right, TokenId result);
    bool empty() const { return m_added == 0; }

    /// Merges the tokens from index `begin` on until no pair of neighbours has a merge.
    void apply(std::vector<TokenId>& ids, std::size_t begin) const;

private:
    struct Merge {
        std::int32_t rank = 0;
        TokenId result = 0;
    };
    struct Symbol;
    struct Candidate;
    class Word;

    const Merge* find(TokenId left, TokenId right) const;

    FlatMap<Merge> m_merges; ///< key: left id << 32 | right id
    std::int32_t m_added = 0;
};

} // namespace ecokv::model
