// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/context_limit.h"

#include <fmt/format.h>

#include <algorithm>

namespace ecokv::session {

std::string mayPassContext(const ContextNeed& need) {
    if (need.fits()) {
        return {};
    }
    return fmt::format("{} tokens of prompt and up to {} of the answer are {}, but the model was "
                       "made for {} (max_position_embeddings): nothing is cut, and what comes "
                       "behind may be nonsense.",
                       need.prompt, need.answer, need.prompt + need.answer, need.limit);
}

std::string passedContext(const ContextNeed& need) {
    if (need.fits()) {
        return {};
    }
    return fmt::format("The answer ran past the {} positions the model was made for from its token "
                       "{} on (counted from 0): do not trust it from there.",
                       need.limit, std::max<std::int64_t>(need.limit - need.prompt, 0));
}

} // namespace ecokv::session
