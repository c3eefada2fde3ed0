// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/token_budget.h"

#include "base/error.h"

#include <fmt/format.h>

namespace ecokv::session {

void checkBudget(std::int64_t tokens) {
    if (tokens < 0) {
        throwUsage(fmt::format("The budget is {} tokens.", tokens),
                   "Give at least 1, or 0 to keep everything.");
    }
}

} // namespace ecokv::session
