#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A table from 64-bit keys to small values for vocabularies of hundreds of thousands of entries:
// open addressing in one array, so that filling it allocates nothing per entry. Grows, never
// shrinks. Reading is thread-safe.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ecokv::model {

template <class Value> class FlatMap {
public:
    static constexpr std::uint64_t kNoKey = ~std::uint64_t{0}; ///< must not be used as a key

    void reserve(std::size_t count) {
        std::size_t slots = 16;
        while (slots < count * 2) {
            slots *= 2;
        }
        if (slots > m_slots.size()) {
            rehash(slots);
        }
    }

    /// The value of `key`, made with `Value{}` if it is new.
    Value& operator[](std::uint64_t key) {
        reserve(m_count + 1);
        Slot& slot = m_slots[indexOf(key)];
        if (slot.key == kNoKey) {
            slot.key = key;
            ++m_count;
        }
        return slot.value;
    }

    const Value* find(std::uint64_t key) const {
        if (m_slots.empty()) {
            return nullptr;
        }
        const Slot& slot = m_slots[indexOf(key)];
        return slot.key == kNoKey ? nullptr : &slot.value;
    }

    std::size_t size() const { return m_count; }

private:
    struct Slot {
        std::uint64_t key = kNoKey;
        Value value{};
    };

    /// The slot that holds `key`, or the empty one where it would go.
    std::size_t indexOf(std::uint64_t key) const {
        const std::size_t mask = m_slots.size() - 1;
        std::uint64_t hash = key * 0x9e3779b97f4a7c15U; // spreads neighbouring ids
        hash ^= hash >> 32;
        std::size_t index = hash & mask;
        while (m_slots[index].key != kNoKey && m_slots[index].key != key) {
            index = (index + 1) & mask;
        }
        return index;
    }

    void rehash(std::size_t slots) {
        std::vector<Slot> old(slots);
        old.swap(m_slots);
        for (const Slot& slot : old) {
            if (slot.key != kNoKey) {
                m_slots[indexOf(slot.key)] = slot;
            }
        }
    }

    std::vector<Slot> m_slots; ///< a power of two, at most half full
    std::size_t m_count = 0;
};

} // namespace ecokv::model
