// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/cache_layout.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>

namespace ecokv::trace {

namespace {

/// FNV-1a over words of 8 bytes, fast enough for the disk not to wait; lengths count too.
class Checksum {
public:
    void add(std::span<const std::byte> bytes) {
        mix(bytes.size());
        while (!bytes.empty()) {
            std::uint64_t word = 0;
            const std::size_t count = std::min(bytes.size(), sizeof(word));
            std::memcpy(&word, bytes.data(), count);
            mix(word);
            bytes = bytes.subspan(count);
        }
    }
    std::int64_t value() const { return std::bit_cast<std::int64_t>(m_state); }

private:
    void mix(std::uint64_t word) {
        constexpr std::uint64_t kPrime = 0x100000001B3;
        m_state = (m_state ^ word) * kPrime;
        m_state ^= m_state >> 32; // high bits of a word reach the low ones of the sum
    }

    std::uint64_t m_state = 0xCBF29CE484222325;
};

} // namespace

std::int64_t checksumOf(const CacheLayer& layer) {
    Checksum sum;
    sum.add(layer.keys);
    sum.add(layer.values);
    sum.add(layer.windowQueries);
    sum.add(std::as_bytes(std::span(layer.windowPositions)));
    for (const auto& positions : layer.positions) {
        sum.add(std::as_bytes(std::span(positions)));
    }
    return sum.value();
}

const CacheDatasetDoc& cacheDatasetDoc(const std::string& name) {
    static const std::map<std::string, CacheDatasetDoc> docs{
        {"token_ids", {"Entry of the vocabulary, the whole prompt", {"token"}}},
        {"rope_positions",
         {"What keys were rotated by, where it is not the position: time, row, column",
          {"token", "axis"}}},
        {"probe", {"Logits of a fixed input, by which the weights are known again", {"token"}}},
        {"lengths", {"Tokens that KV head holds", {"kv_head"}}},
        {"positions", {"Position in the prompt; rows of KV head 0 first, then head 1", {"row"}}},
        {"keys", {"Keys as cached, after rotary embedding; rows as in positions", {"row", "dim"}}},
        {"values", {"Values as cached; rows as in positions", {"row", "dim"}}},
        {"window_positions", {"Position of each query row", {"window"}}},
        {"window_queries",
         {"Queries of the last prompt tokens, for evictions while answering",
          {"window", "head", "dim"}}},
    };
    const auto found = docs.find(name);
    if (found == docs.end()) {
        throwInternal(fmt::format("A saved cache has no dataset {}.", name));
    }
    return found->second;
}

} // namespace ecokv::trace
