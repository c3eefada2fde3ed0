// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/patch_windows.h"

#include <algorithm>

namespace ecokv::model {

namespace {

struct Window {
    std::int32_t top, left, bottom, right; ///< image tokens, half open
};

std::vector<Window> cut(const PatchGrid& grid, std::int32_t side) {
    std::vector<Window> windows;
    for (std::int32_t top = 0; top < grid.tokenRows(); top += side) {
        for (std::int32_t left = 0; left < grid.tokenColumns(); left += side) {
            windows.push_back({top, left, std::min(top + side, grid.tokenRows()),
                               std::min(left + side, grid.tokenColumns())});
        }
    }
    return windows;
}

} // namespace

PatchWindows windowsOf(const PatchGrid& grid, std::int32_t side) {
    PatchWindows result;
    for (const Window& window : cut(grid, side)) {
        for (std::int32_t row = window.top; row < window.bottom; ++row) {
            for (std::int32_t column = window.left; column < window.right; ++column) {
                result.order.push_back(std::int64_t{row} * grid.tokenColumns() + column);
            }
        }
        const std::int64_t tokens =
            std::int64_t{window.bottom - window.top} * (window.right - window.left);
        const std::int64_t patches = tokens * grid.merge * grid.merge;
        if (result.runs.empty() || result.runs.back().patches != patches) {
            result.runs.push_back({0, patches});
        }
        ++result.runs.back().count;
    }
    return result;
}

} // namespace ecokv::model
