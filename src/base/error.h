#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The one error type of the core: what was tried, on which file, tensor, layer or token, and what
// to do about it. Thrown from any thread; workers turn it into one signal or one exit code.

#include <stdexcept>
#include <string>

namespace ecokv {

/// What an error means to the caller; the CLI maps it to its exit code.
enum class ErrorKind {
    Usage,     ///< impossible or contradictory parameters (exit 2)
    BadInput,  ///< a file, tensor or prompt that cannot be used (exit 3)
    Cancelled, ///< the user stopped the job (exit 4)
    Internal,  ///< a bug of ours (exit 1)
};

class Error : public std::runtime_error {
public:
    /// `message` is a full sentence naming the subject; `advice` says what to do ("" if nothing).
    Error(ErrorKind kind, const std::string& message, std::string advice = {});

    ErrorKind kind() const noexcept { return m_kind; }
    const std::string& message() const noexcept { return m_message; }
    const std::string& advice() const noexcept { return m_advice; }

private:
    ErrorKind m_kind;
    std::string m_message;
    std::string m_advice;
};

[[noreturn]] void throwUsage(const std::string& message, const std::string& advice = {});
[[noreturn]] void throwBadInput(const std::string& message, const std::string& advice = {});
[[noreturn]] void throwInternal(const std::string& message);

} // namespace ecokv
