#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The geometry of a trace's heads in a few numbers and in words: which heads are most redundant,
// how image and text tokens differ, how much the rotary embedding matters. Pure functions.

#include "analysis/geometry_table.h"
#include "analysis/head_clusters.h"
#include "analysis/importance_relation.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::analysis {

/// Means over heads of one quantity measured in two ways, and in how many heads the first is more;
/// of layers that count (GeometryTable::counted), as everything here.
struct GeometryContrast {
    double first = 0, second = 0;     ///< means over the heads where both are known
    std::int64_t heads = 0, more = 0; ///< heads compared; heads where the first is larger
};

/// Of two recorded metrics; nothing where a trace lacks one.
std::optional<GeometryContrast> contrast(const GeometryTable& table, const std::string& first,
                                         const std::string& second);

struct RankedHead {
    std::int64_t layer = 0, kvHead = 0;
    double value = 0;
};

/// Heads by a metric, largest first, equal ones in order; NaN left out.
std::vector<RankedHead> rankedHeads(const GeometryTable& table, const std::string& metric);

/// Heads of one layer (or of all, -1) clustered by what a policy keeps.
struct SurvivorClusters {
    std::string policy; ///< whose survivors
    std::int64_t layer = -1;
    std::int64_t firstHead = 0; ///< of the scope, [layer * kvHeads + kvHead]
    /// [item] head, of the layers that count (LayerKinds) or of the one that was named.
    std::vector<std::int64_t> heads;
    std::vector<double> distances; ///< [item, item] Jaccard
    HeadClusters clusters;
};

/// Survivors of a policy, told by its name.
struct NamedSurvivors {
    std::string policy;
    const std::vector<std::uint8_t>& kept; ///< [layer, kvHead, token]
    LayerKinds kinds = {};
};

/// `layer` -1 = all layers. Throws Error{Usage} for an unknown layer.
SurvivorClusters clusterSurvivors(const trace::Dimensions& dimensions,
                                  const NamedSurvivors& survivors, std::int64_t layer = -1);

/// Sentences for people. `relations` and `survivors` may be empty.
std::vector<std::string> describeGeometry(const GeometryTable& table,
                                          const std::vector<ImportanceRelation>& relations,
                                          const std::optional<SurvivorClusters>& survivors);

} // namespace ecokv::analysis
