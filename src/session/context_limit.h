#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Answers that run past the positions a model was made for (max_position_embeddings): nothing is
// cut, but it is said before and after. Pure functions; tokens.

#include <cstdint>
#include <string>

namespace ecokv::session {

/// What a run asks of a model. `limit` 0 = not known.
struct ContextNeed {
    std::int64_t prompt = 0; ///< or context and question
    std::int64_t answer = 0; ///< the most, or what it became
    std::int64_t limit = 0;

    bool fits() const { return limit <= 0 || prompt + answer <= limit; }
};

/// A sentence on an answer that may not fit; "" if it does.
std::string mayPassContext(const ContextNeed& need);
/// A sentence on an answer that did not, naming the first of its tokens (from 0) behind the limit;
/// "" if it did.
std::string passedContext(const ContextNeed& need);

} // namespace ecokv::session
