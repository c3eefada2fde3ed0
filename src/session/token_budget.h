#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a budget may be, the same for a run and for the doctor that looks ahead of it.

#include <cstdint>

namespace ecokv::session {

/// `tokens` per KV head; 0 = everything is kept. Throws Error{Usage} below that.
void checkBudget(std::int64_t tokens);

} // namespace ecokv::session
