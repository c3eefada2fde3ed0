// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/replay_cache.h"

#include <utility>

namespace ecokv::analysis {

void ReplayCache::beginPass() {
    const std::lock_guard lock(m_mutex);
    ++m_pass;
}

std::size_t ReplayCache::bytes() const {
    const std::lock_guard lock(m_mutex);
    return m_bytes;
}

std::size_t ReplayCache::entries() const {
    const std::lock_guard lock(m_mutex);
    return m_entries.size();
}

std::int64_t ReplayCache::hits() const {
    const std::lock_guard lock(m_mutex);
    return m_hits;
}

std::int64_t ReplayCache::misses() const {
    const std::lock_guard lock(m_mutex);
    return m_misses;
}

std::shared_ptr<const void> ReplayCache::find(const std::string& key) {
    const std::lock_guard lock(m_mutex);
    const auto found = m_index.find(key);
    if (found == m_index.end()) {
        ++m_misses;
        return nullptr;
    }
    ++m_hits;
    found->second->pass = m_pass;
    m_entries.splice(m_entries.begin(), m_entries, found->second);
    return found->second->value;
}

bool ReplayCache::makeRoom(std::size_t bytes) {
    if (bytes > m_limit) {
        return false;
    }
    while (m_bytes + bytes > m_limit) {
        const Entry& oldest = m_entries.back();
        if (oldest.pass == m_pass) {
            return false; // everything kept is in use
        }
        m_bytes -= oldest.bytes;
        m_index.erase(oldest.key);
        m_entries.pop_back();
    }
    return true;
}

void ReplayCache::insert(const std::string& key, std::shared_ptr<const void> value,
                         std::size_t bytes) {
    const std::lock_guard lock(m_mutex);
    if (m_index.contains(key) || !makeRoom(bytes)) {
        return;
    }
    m_entries.push_front({key, std::move(value), bytes, m_pass});
    m_index[key] = m_entries.begin();
    m_bytes += bytes;
}

} // namespace ecokv::analysis
