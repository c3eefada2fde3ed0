#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Results that can be computed again, kept while they fit a limit of bytes. What the present pass
// uses is never thrown out for it: a pass over more layers than fit keeps its first ones instead
// of chasing its own tail. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace ecokv::analysis {

class ReplayCache {
public:
    explicit ReplayCache(std::size_t limit) : m_limit(limit) {}

    /// A new pass begins: entries of earlier ones may be thrown out, the longest unused first.
    void beginPass();

    /// The entry `key`, or what `make` returns, which is kept if it fits. `bytesOf` is asked for
    /// the size of a new entry. Two threads that miss the same key both make it.
    template <class T>
    std::shared_ptr<const T> get(const std::string& key,
                                 const std::function<std::shared_ptr<const T>()>& make,
                                 const std::function<std::size_t(const T&)>& bytesOf) {
        if (const auto found = find(key)) {
            return std::static_pointer_cast<const T>(found);
        }
        std::shared_ptr<const T> made = make();
        insert(key, made, bytesOf(*made));
        return made;
    }

    std::size_t limit() const { return m_limit; }
    std::size_t bytes() const;
    std::size_t entries() const;
    std::int64_t hits() const;
    std::int64_t misses() const;

private:
    struct Entry {
        std::string key;
        std::shared_ptr<const void> value;
        std::size_t bytes = 0;
        std::int64_t pass = 0; ///< that used it last
    };

    std::shared_ptr<const void> find(const std::string& key);
    void insert(const std::string& key, std::shared_ptr<const void> value, std::size_t bytes);
    bool makeRoom(std::size_t bytes);

    mutable std::mutex m_mutex;
    std::size_t m_limit;
    std::size_t m_bytes = 0;
    std::int64_t m_pass = 0, m_hits = 0, m_misses = 0;
    std::list<Entry> m_entries; ///< most recently used first
    std::unordered_map<std::string, std::list<Entry>::iterator> m_index;
};

} // namespace ecokv::analysis
