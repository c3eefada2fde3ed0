// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/write_queue.h"

#include <algorithm>
#include <utility>

namespace ecokv::trace {

namespace {

constexpr std::size_t kFreeBuffers = 16; ///< kept for reuse

} // namespace

WriteQueue::WriteQueue(std::size_t byteLimit)
    : m_byteLimit(byteLimit), m_thread([this] { work(); }) {}

WriteQueue::~WriteQueue() {
    {
        const std::lock_guard lock(m_mutex);
        m_stopping = true;
    }
    m_changed.notify_all();
    m_thread.join();
}

void WriteQueue::push(std::size_t bytes, Task task) {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [&] { return m_error || m_bytes == 0 || m_bytes + bytes <= m_byteLimit; });
    throwIfFailed();
    m_entries.push_back({bytes, std::move(task)});
    m_bytes += bytes;
    m_largest = std::max(m_largest, m_bytes);
    lock.unlock();
    m_changed.notify_all();
}

void WriteQueue::drain() {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [&] { return m_entries.empty() && !m_busy; });
    throwIfFailed();
}

std::size_t WriteQueue::largestBacklog() const {
    const std::lock_guard lock(m_mutex);
    return m_largest;
}

void WriteQueue::work() {
    std::unique_lock lock(m_mutex);
    for (;;) {
        m_changed.wait(lock, [&] { return m_stopping || !m_entries.empty(); });
        if (m_entries.empty()) {
            return;
        }
        Entry entry = std::move(m_entries.front());
        m_entries.pop_front();
        m_busy = true;
        const bool failed = m_error != nullptr;
        lock.unlock();
        if (!failed) {
            carryOut(entry);
        }
        entry.task = nullptr; // its buffers go back before the bytes are counted as free
        lock.lock();
        m_bytes -= entry.bytes;
        m_busy = false;
        m_changed.notify_all();
    }
}

void WriteQueue::carryOut(Entry& entry) {
    try {
        entry.task();
    } catch (...) {
        const std::lock_guard lock(m_mutex);
        m_error = std::current_exception();
    }
}

void WriteQueue::throwIfFailed() {
    if (m_error) {
        std::rethrow_exception(m_error);
    }
}

BufferPool::BufferPool() {
    m_free.reserve(kFreeBuffers); // a buffer that comes back must not need memory
}

std::shared_ptr<std::byte> BufferPool::take(std::size_t bytes) {
    std::unique_ptr<std::byte[]> memory;
    std::size_t capacity = bytes;
    {
        const std::lock_guard lock(m_mutex);
        const auto fits = [bytes](const Free& free) {
            return free.bytes >= bytes && free.bytes <= 2 * bytes;
        };
        const auto found = std::find_if(m_free.begin(), m_free.end(), fits);
        if (found != m_free.end()) {
            memory = std::move(found->memory);
            capacity = found->bytes;
            m_free.erase(found);
        }
    }
    if (!memory) {
        memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
    }
    auto self = shared_from_this();
    return {memory.release(), [self = std::move(self), capacity](std::byte* pointer) {
                self->giveBack(pointer, capacity);
            }};
}

void BufferPool::giveBack(std::byte* memory, std::size_t bytes) noexcept {
    std::unique_ptr<std::byte[]> owned(memory);
    const std::lock_guard lock(m_mutex);
    if (m_free.size() >= kFreeBuffers) {
        m_free.erase(m_free.begin());
    }
    m_free.push_back({bytes, std::move(owned)});
}

} // namespace ecokv::trace
