#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Patches of one picture in the order of Qwen's towers: the patches that one image token merges
// stand together, row by row; the image tokens follow in rows. Values; any thread.

#include <cstdint>

namespace ecokv::model {

struct PatchPlace {
    std::int32_t row = 0, column = 0;
};

struct PatchGrid {
    std::int32_t rows = 0, columns = 0; ///< patches, multiples of `merge`
    std::int32_t merge = 2;             ///< an image token stands for merge x merge patches

    std::int32_t tokenRows() const { return rows / merge; }
    std::int32_t tokenColumns() const { return columns / merge; }
    std::int64_t patches() const { return std::int64_t{rows} * columns; }
    std::int64_t tokens() const { return std::int64_t{tokenRows()} * tokenColumns(); }

    PatchPlace place(std::int64_t patch) const {
        const std::int64_t unit = std::int64_t{merge} * merge;
        const std::int64_t token = patch / unit;
        const std::int64_t inner = patch % unit;
        return {static_cast<std::int32_t>(token / tokenColumns() * merge + inner / merge),
                static_cast<std::int32_t>(token % tokenColumns() * merge + inner % merge)};
    }
};

} // namespace ecokv::model
