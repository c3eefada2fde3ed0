// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"

#include <utility>

namespace ecokv {

Error::Error(ErrorKind kind, const std::string& message, std::string advice)
    : std::runtime_error(advice.empty() ? message : message + " " + advice), m_kind(kind),
      m_message(message), m_advice(std::move(advice)) {}

void throwUsage(const std::string& message, const std::string& advice) {
    throw Error(ErrorKind::Usage, message, advice);
}

void throwBadInput(const std::string& message, const std::string& advice) {
    throw Error(ErrorKind::BadInput, message, advice);
}

void throwInternal(const std::string& message) {
    throw Error(ErrorKind::Internal, message);
}

} // namespace ecokv
