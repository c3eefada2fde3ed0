// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/prompt.h"

#include <algorithm>

namespace ecokv::model {

std::int64_t Prompt::imageTokens() const {
    return std::ranges::count(tokenKind, TokenKind::Image);
}

} // namespace ecokv::model
