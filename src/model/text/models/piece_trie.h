#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Finds all tokens that a text begins with, shortest first. Reading is thread-safe.

#include "base/ids.h"
#include "model/text/flat_map.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace ecokv::model {

class PieceTrie {
public:
    void add(std::string_view token, TokenId id); ///< a token added again takes the new id

    /// Calls found(length in bytes, id) for each token at the start of `text`.
    template <class Found> void matchesAt(std::string_view text, Found found) const {
        std::uint32_t node = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const std::uint32_t* next = m_edges.find(keyOf(node, text[i]));
            if (next == nullptr) {
                return;
            }
            node = *next;
            if (m_ids[node] >= 0) {
                found(i + 1, m_ids[node]);
            }
        }
    }

private:
    static std::uint64_t keyOf(std::uint32_t node, char byte) {
        return std::uint64_t{node} << 8 | static_cast<std::uint8_t>(byte);
    }

    FlatMap<std::uint32_t> m_edges; ///< (node, byte) -> node; the root is 0
    std::vector<TokenId> m_ids{-1}; ///< by node, -1 = no token ends here
};

} // namespace ecokv::model
