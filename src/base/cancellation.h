#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Cooperative cancellation. A source is owned by whoever may stop a job; tokens are cheap copies
// that the job polls at least every 50 ms of work. Safe from any thread and from signal handlers.

#include <atomic>
#include <memory>

namespace ecokv {

class CancellationToken {
public:
    CancellationToken() = default; ///< never cancelled

    bool isCancelled() const noexcept { return m_flag && m_flag->load(std::memory_order_relaxed); }
    /// Throws Error{Cancelled} naming `what` was stopped.
    void throwIfCancelled(const char* what) const;

private:
    friend class CancellationSource;
    explicit CancellationToken(std::shared_ptr<std::atomic<bool>> flag) : m_flag(std::move(flag)) {}

    std::shared_ptr<std::atomic<bool>> m_flag;
};

class CancellationSource {
public:
    CancellationSource() : m_flag(std::make_shared<std::atomic<bool>>(false)) {}

    void cancel() noexcept { m_flag->store(true, std::memory_order_relaxed); }
    CancellationToken token() const { return CancellationToken(m_flag); }

private:
    std::shared_ptr<std::atomic<bool>> m_flag;
};

} // namespace ecokv
