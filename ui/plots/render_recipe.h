#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// `ecokv-lens --render recipe.json [--trace FILE] --out DIR`: draws the figures a JSON recipe names
// without a display (a QGuiApplication on the offscreen plugin suffices).

#include "base/progress.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ecokv::ui {

struct RenderRequest {
    std::filesystem::path recipe;
    std::filesystem::path trace; ///< wins over the recipe's "trace"; may be empty
    std::filesystem::path out;   ///< made if missing
    ProgressSink progress;       ///< may be empty; "figures"
    /// May be empty; told of each figure left out: "survival.png is left out: ..."
    std::function<void(const std::string&)> leftOut = {};
};

/// Returns the files written. Figures of pictures are left out where the prompt has none, so that
/// one recipe serves all traces. Throws Error{Usage} naming the field of a wrong recipe, or
/// Error{BadInput} from the trace or where nothing can be drawn; files written before stay.
std::vector<std::filesystem::path> renderRecipe(const RenderRequest& request);

} // namespace ecokv::ui
