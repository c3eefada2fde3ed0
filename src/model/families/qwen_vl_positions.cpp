// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/qwen_vl.h"

#include <algorithm>

namespace ecokv::model {

namespace {

/// Pictures that stand behind <|vision_start|>.
std::size_t framedPictures(const std::vector<TokenId>& ids, const QwenVlTokens& tokens) {
    std::size_t count = 0;
    for (std::size_t token = 1; token < ids.size(); ++token) {
        count += ids[token - 1] == tokens.visionStart && ids[token] == tokens.image ? 1U : 0U;
    }
    return count;
}

/// Appends positions of text up to token `end`; returns the next free position.
std::int32_t addText(std::vector<RopePosition>& positions, std::size_t end, std::int32_t next) {
    while (positions.size() < end) {
        positions.push_back({next, next, next});
        ++next;
    }
    return next;
}

} // namespace

std::vector<RopePosition> qwenRopePositions(const Prompt& prompt, const QwenVlTokens& tokens,
                                            std::int32_t merge) {
    std::vector<RopePosition> positions;
    if (prompt.pictureInputs.empty()) {
        return positions;
    }
    const std::vector<TokenId>& ids = prompt.tokenIds;
    const std::size_t framed = std::min(framedPictures(ids, tokens), prompt.pictureInputs.size());
    std::int32_t next = 0;
    for (std::size_t picture = 0; picture < framed; ++picture) {
        const auto from = ids.begin() + static_cast<std::ptrdiff_t>(positions.size());
        next = addText(
            positions,
            static_cast<std::size_t>(std::find(from, ids.end(), tokens.image) - ids.begin()), next);
        const auto& grid = prompt.pictureInputs[picture].grid;
        const std::int32_t rows = grid[1] / merge, columns = grid[2] / merge;
        for (std::int32_t token = 0; token < rows * columns; ++token) {
            positions.push_back({next, next + token / columns, next + token % columns});
        }
        next += std::max(rows, columns);
    }
    addText(positions, ids.size(), next);
    return positions;
}

} // namespace ecokv::model
