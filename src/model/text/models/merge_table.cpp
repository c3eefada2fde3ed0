// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/models/merge_table.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ecokv::model {

namespace {

std::uint64_t pairKey(TokenId left, TokenId right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
           static_cast<std::uint32_t>(right);
}

} // namespace

/// A piece of a word while it is merged; a doubly linked list inside a vector.
struct MergeTable::Symbol {
    TokenId id = 0;
    std::int32_t previous = -1, next = -1;
    bool alive = true;
};

struct MergeTable::Candidate {
    std::int32_t rank = 0;
    std::int32_t at = 0; ///< index of the left symbol
    TokenId result = 0;

    /// The heap's top is the lowest rank, and the leftmost among equals.
    bool operator<(const Candidate& other) const {
        return std::pair(rank, at) > std::pair(other.rank, other.at);
    }
};

class MergeTable::Word {
public:
    Word(const MergeTable& table, const std::vector<TokenId>& ids, std::size_t begin)
        : m_table(table), m_symbols(ids.size() - begin) {
        const auto count = static_cast<std::int32_t>(m_symbols.size());
        for (std::int32_t i = 0; i < count; ++i) {
            symbol(i) = {ids[begin + static_cast<std::size_t>(i)], i - 1,
                         i + 1 < count ? i + 1 : -1, true};
        }
        for (std::int32_t i = 0; i + 1 < count; ++i) {
            if (const auto candidate = candidateAt(i)) {
                m_heap.push_back(*candidate);
            }
        }
        std::make_heap(m_heap.begin(), m_heap.end());
    }

    void merge() {
        while (!m_heap.empty()) {
            std::pop_heap(m_heap.begin(), m_heap.end());
            const Candidate top = m_heap.back();
            m_heap.pop_back();
            const auto current = candidateAt(top.at);
            if (current && current->result == top.result) { // else one of the two was merged
                mergeAt(top);
            }
        }
    }

    void writeTo(std::vector<TokenId>& ids, std::size_t begin) const {
        ids.resize(begin);
        for (const Symbol& symbol : m_symbols) {
            if (symbol.alive) {
                ids.push_back(symbol.id);
            }
        }
    }

private:
    Symbol& symbol(std::int32_t index) { return m_symbols[static_cast<std::size_t>(index)]; }

    std::optional<Candidate> candidateAt(std::int32_t at) {
        const Symbol& left = symbol(at);
        if (!left.alive || left.next < 0) {
            return std::nullopt;
        }
        const Merge* merge = m_table.find(left.id, symbol(left.next).id);
        return merge == nullptr ? std::nullopt
                                : std::optional(Candidate{merge->rank, at, merge->result});
    }

    void mergeAt(const Candidate& candidate) {
        Symbol& left = symbol(candidate.at);
        Symbol& right = symbol(left.next);
        left.id = candidate.result;
        left.next = right.next;
        right.alive = false;
        if (left.next >= 0) {
            symbol(left.next).previous = candidate.at;
        }
        for (const std::int32_t at : {left.previous, candidate.at}) {
            const auto created = at < 0 ? std::nullopt : candidateAt(at);
            if (created) {
                m_heap.push_back(*created);
                std::push_heap(m_heap.begin(), m_heap.end());
            }
        }
    }

    const MergeTable& m_table;
    std::vector<Symbol> m_symbols;
    std::vector<Candidate> m_heap;
};

void MergeTable::add(TokenId left, TokenId right, TokenId result) {
    m_merges[pairKey(left, right)] = {m_added++, result};
}

const MergeTable::Merge* MergeTable::find(TokenId left, TokenId right) const {
    return m_merges.find(pairKey(left, right));
}

void MergeTable::apply(std::vector<TokenId>& ids, std::size_t begin) const {
    if (ids.size() < begin + 2) {
        return;
    }
    Word word(*this, ids, begin);
    word.merge();
    word.writeTo(ids, begin);
}

} // namespace ecokv::model
