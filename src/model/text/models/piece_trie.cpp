// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/models/piece_trie.h"

namespace ecokv::model {

void PieceTrie::add(std::string_view token, TokenId id) {
    std::uint32_t node = 0;
    for (const char byte : token) {
        std::uint32_t& next = m_edges[keyOf(node, byte)];
        if (next == 0) {
            next = static_cast<std::uint32_t>(m_ids.size());
            m_ids.push_back(-1);
        }
        node = next;
    }
    m_ids[node] = id;
}

} // namespace ecokv::model
