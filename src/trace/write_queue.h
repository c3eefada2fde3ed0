#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A thread that carries out tasks in order, behind a queue bounded by the bytes the tasks hold, and
// the buffers those tasks carry. push() may be called from one thread at a time.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ecokv::trace {

class WriteQueue {
public:
    using Task = std::function<void()>;

    /// `byteLimit` bounds what waits; one larger task is let in when nothing else waits.
    explicit WriteQueue(std::size_t byteLimit);
    ~WriteQueue(); ///< carries out what waits, then ends the thread
    WriteQueue(const WriteQueue&) = delete;
    WriteQueue& operator=(const WriteQueue&) = delete;

    /// Blocks while the queue is full. Throws the error of an earlier task, once and for all:
    /// tasks after a failed one are dropped.
    void push(std::size_t bytes, Task task);
    /// Waits until all is done; throws like push().
    void drain();
    std::size_t largestBacklog() const; ///< bytes, the most that ever waited

private:
    struct Entry {
        std::size_t bytes = 0;
        Task task;
    };

    void work();
    void carryOut(Entry& entry);
    void throwIfFailed();

    const std::size_t m_byteLimit;
    mutable std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<Entry> m_entries;
    std::size_t m_bytes = 0, m_largest = 0;
    bool m_busy = false, m_stopping = false;
    std::exception_ptr m_error;
    std::thread m_thread;
};

/// Reuses buffers: fresh pages cost as much as writing them. Thread-safe. Make it with
/// std::make_shared: buffers keep their pool alive.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
public:
    BufferPool();
    /// At least `bytes` of uninitialised memory, which comes back when the last copy dies.
    std::shared_ptr<std::byte> take(std::size_t bytes);

private:
    struct Free {
        std::size_t bytes = 0;
        std::unique_ptr<std::byte[]> memory;
    };

    void giveBack(std::byte* memory, std::size_t bytes) noexcept;

    std::mutex m_mutex;
    std::vector<Free> m_free;
};

} // namespace ecokv::trace
