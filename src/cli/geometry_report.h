#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The geometry of a trace as text for people and as JSON for programs.

#include "analysis/geometry_summary.h"

#include <optional>
#include <string>
#include <vector>

namespace ecokv::cli {

/// Everything `ecokv geometry` found out about one trace.
struct GeometryReport {
    std::string trace;  ///< path as given
    std::string scores; ///< where importance comes from: "recorded", or a policy; "" = nowhere
    /// First lines of tables: they name the policy whose importance and survivors are in them.
    std::string scoresLine, survivorsLine;
    analysis::GeometryTable table;
    std::vector<analysis::ImportanceRelation> relations;
    std::optional<analysis::SurvivorClusters> survivors;
    LayerKinds kinds = {}; ///< of the document that was read
    bool split = true;     ///< image and text tokens apart
};

/// One line per head, then the summary.
std::string geometryText(const GeometryReport& report);
/// One JSON object; NaN becomes null.
std::string geometryJson(const GeometryReport& report);

} // namespace ecokv::cli
