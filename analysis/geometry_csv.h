#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry of heads as CSV text: `provenance` as a comment first, a header line, points as decimal
// separators in every locale (field cases F155, F156), empty cells where nothing is known.

#include "analysis/geometry_summary.h"
#include "analysis/geometry_table.h"
#include "analysis/importance_relation.h"

#include <string>
#include <vector>

namespace ecokv::analysis {

/// layer,kv_head,<every metric by name>, then spearman_cosine,mutual_information_cosine, the same
/// of euclid and composite, and rank_disagreement where there are `relations`.
std::string geometryCsv(const std::string& provenance, const GeometryTable& table,
                        const std::vector<ImportanceRelation>& relations = {});

/// layer,kv_head,component,<every spectrum by name>: eigenvalues, largest first.
std::string spectrumCsv(const std::string& provenance, const GeometryTable& table);

/// layer_a,kv_head_a,layer_b,kv_head_b,jaccard_distance of every two heads, in the order of the
/// tree.
std::string survivorDistanceCsv(const std::string& provenance, const SurvivorClusters& survivors,
                                std::int64_t kvHeads);

} // namespace ecokv::analysis
