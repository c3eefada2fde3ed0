// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/vocabulary.h"

#include <functional>

namespace ecokv::model {

namespace {

std::uint32_t hashOf(std::string_view token) {
    const std::uint64_t hash = std::hash<std::string_view>{}(token);
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

} // namespace

void Vocabulary::reserve(std::size_t tokens) {
    std::size_t slots = 16;
    while (slots < tokens * 2) {
        slots *= 2;
    }
    if (slots > m_slots.size()) {
        rehash(slots);
    }
    m_entries.reserve(tokens);
    m_byId.reserve(tokens);
}

void Vocabulary::set(std::string_view token, TokenId id) {
    if (m_slots.size() < (m_entries.size() + 1) * 2) {
        rehash(m_slots.empty() ? 16 : m_slots.size() * 2);
    }
    const std::uint32_t hash = hashOf(token);
    Slot& slot = m_slots[slotOf(token, hash)];
    if (slot.entry < 0) {
        slot = {hash, static_cast<std::int32_t>(m_entries.size())};
        m_entries.push_back({static_cast<std::uint32_t>(m_text.size()),
                             static_cast<std::uint32_t>(token.size()), id});
        m_text += token;
    }
    m_entries[static_cast<std::size_t>(slot.entry)].id = id;
    const auto index = static_cast<std::size_t>(id);
    if (index >= m_byId.size()) {
        m_byId.resize(index + 1, -1);
    }
    m_byId[index] = slot.entry;
}

std::optional<TokenId> Vocabulary::find(std::string_view token) const {
    if (m_slots.empty()) {
        return std::nullopt;
    }
    const std::int32_t entry = m_slots[slotOf(token, hashOf(token))].entry;
    return entry < 0 ? std::nullopt : std::optional(m_entries[static_cast<std::size_t>(entry)].id);
}

bool Vocabulary::knows(TokenId id) const {
    return id >= 0 && id < idEnd() && m_byId[static_cast<std::size_t>(id)] >= 0;
}

std::string_view Vocabulary::token(TokenId id) const {
    return knows(id)
               ? textOf(m_entries[static_cast<std::size_t>(m_byId[static_cast<std::size_t>(id)])])
               : std::string_view();
}

std::string_view Vocabulary::textOf(const Entry& entry) const {
    return std::string_view(m_text).substr(entry.offset, entry.length);
}

/// The slot that holds `token`, or the empty one where it would go.
std::size_t Vocabulary::slotOf(std::string_view token, std::uint32_t hash) const {
    const std::size_t mask = m_slots.size() - 1;
    std::size_t index = hash & mask;
    while (m_slots[index].entry >= 0 &&
           (m_slots[index].hash != hash ||
            textOf(m_entries[static_cast<std::size_t>(m_slots[index].entry)]) != token)) {
        index = (index + 1) & mask;
    }
    return index;
}

void Vocabulary::rehash(std::size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(m_slots);
    for (const Slot& slot : old) {
        if (slot.entry >= 0) {
            const Entry& entry = m_entries[static_cast<std::size_t>(slot.entry)];
            m_slots[slotOf(textOf(entry), slot.hash)] = slot;
        }
    }
}

} // namespace ecokv::model
