#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Tokens and their ids, both ways, in a few large arrays: 262,000 tokens are entered in tens of
// milliseconds. Reading is thread-safe.

#include "base/ids.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ecokv::model {

class Vocabulary {
public:
    /// The largest id taken from a file is below this: a wild id must not eat the memory.
    static constexpr TokenId kIdLimit = 16'000'000;

    void reserve(std::size_t tokens);
    /// Enters a token; one that is entered again takes the new id. `id` lies in [0, kIdLimit).
    void set(std::string_view token, TokenId id);

    std::optional<TokenId> find(std::string_view token) const;
    bool knows(TokenId id) const;
    std::string_view token(TokenId id) const; ///< "" if unknown
    std::size_t size() const { return m_entries.size(); }
    std::int32_t idEnd() const { return static_cast<std::int32_t>(m_byId.size()); }

private:
    struct Entry {
        std::uint32_t offset = 0, length = 0; ///< in m_text
        TokenId id = 0;
    };
    struct Slot {
        std::uint32_t hash = 0;
        std::int32_t entry = -1;
    };

    std::string_view textOf(const Entry& entry) const;
    std::size_t slotOf(std::string_view token, std::uint32_t hash) const;
    void rehash(std::size_t slots);

    std::string m_text; ///< all tokens, one behind the other
    std::vector<Entry> m_entries;
    std::vector<Slot> m_slots;        ///< a power of two, at most half full
    std::vector<std::int32_t> m_byId; ///< entry, -1 = no such id
};

} // namespace ecokv::model
