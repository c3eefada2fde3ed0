// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/finite_layers.h"

#include "policy/damaged_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <sstream>

namespace ecokv::analysis {

std::vector<std::int64_t> notedNotFinite(const trace::TraceReader& reader,
                                         const std::string& what) {
    std::set<std::int64_t> layers;
    if (const auto run = reader.run()) {
        std::istringstream log(run->log);
        for (std::string note; std::getline(log, note);) {
            if (const auto layer = policy::damagedLayerOf(note, what)) {
                layers.insert(*layer);
            }
        }
    }
    return {layers.begin(), layers.end()};
}

std::string notFiniteNote(const std::vector<std::int64_t>& layers) {
    return fmt::format(
        "Layer{} {} hold{} numbers that are not finite (NaN or Inf): nothing is said "
        "of the heads there, and means leave them out. The checkpoint may be "
        "damaged, or half precision too narrow (--dtype f32).",
        layers.size() > 1 ? "s" : "", fmt::join(layers, ", "), layers.size() > 1 ? "" : "s");
}

void blankLayers(const std::vector<std::int64_t>& layers, std::int64_t count,
                 std::vector<float>& values) {
    const auto perLayer = count > 0 ? std::ssize(values) / count : 0;
    for (const std::int64_t layer : layers) {
        if (layer >= 0 && layer < count) {
            std::fill_n(values.begin() + layer * perLayer, perLayer,
                        std::numeric_limits<float>::quiet_NaN());
        }
    }
}

} // namespace ecokv::analysis
