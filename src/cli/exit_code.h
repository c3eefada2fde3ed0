#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Exit codes of every command, as documented in --help and README.

#include "base/error.h"

namespace ecokv::cli {

enum class ExitCode : int { Done = 0, Bug = 1, Usage = 2, BadInput = 3, Cancelled = 4 };

inline ExitCode exitCodeOf(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::Usage:
        return ExitCode::Usage;
    case ErrorKind::BadInput:
        return ExitCode::BadInput;
    case ErrorKind::Cancelled:
        return ExitCode::Cancelled;
    case ErrorKind::Internal:
        break;
    }
    return ExitCode::Bug;
}

} // namespace ecokv::cli
