#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Turns Ctrl-C and SIGTERM into a cancellation for as long as it lives; a second Ctrl-C ends the
// program at once. Afterwards both are ignored: the program is about to end. At most one at a time.

#include "base/cancellation.h"

namespace ecokv::cli {

class SignalCancel {
public:
    SignalCancel();
    ~SignalCancel();
    SignalCancel(const SignalCancel&) = delete;
    SignalCancel& operator=(const SignalCancel&) = delete;

    CancellationToken token() const { return m_source.token(); }

private:
    CancellationSource m_source;
};

} // namespace ecokv::cli
