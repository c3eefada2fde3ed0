// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/prompt.h"

#include <algorithm>

namespace ecokv::model {

std::int64_t Prompt::imageTokensOf(std::size_t picture) const {
    std::int64_t count = 0;
    for (std::size_t token = 0; token < tokenIds.size(); ++token) {
        const bool own = imageIndex[token] == static_cast<std::int32_t>(picture);
        count += own && tokenKind[token] == TokenKind::Image ? 1 : 0;
    }
    return count;
}

std::int64_t Prompt::imageTokens() const {
    return std::ranges::count(tokenKind, TokenKind::Image);
}

} // namespace ecokv::model
