// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/cancellation.h"

#include "base/error.h"

#include <string>

namespace ecokv {

void CancellationToken::throwIfCancelled(const char* what) const {
    if (isCancelled()) {
        throw Error(ErrorKind::Cancelled, std::string(what) + " was stopped on request.");
    }
}

} // namespace ecokv
