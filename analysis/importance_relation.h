#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a head's importance has to do with its diversities, and how far cosine and Euclid agree on
// which tokens are different. From recorded scores, or from a replay where a trace holds none.

#include "analysis/replay.h"
#include "trace/trace_reader.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ecokv::analysis {

/// [token] each; NaN for protected tokens.
struct HeadScores {
    std::span<const float> importance, diversityCosine, diversityEuclid, diversity;
};

struct Relation {
    double spearman = 0;          ///< rank correlation, -1..1; NaN where a side is constant
    double mutualInformation = 0; ///< nats, see mutual_information.h
};

struct ImportanceRelation {
    std::int64_t layer = 0, kvHead = 0;
    std::int64_t candidates = 0;        ///< tokens that have all scores
    Relation cosine, euclid, composite; ///< of importance with each diversity
    /// 1 - Spearman of the two diversities: 0 = the same order, 1 = unrelated, 2 = reversed.
    double rankDisagreement = 0;
};

/// Of one head. Tokens without a finite score are left out.
ImportanceRelation importanceRelation(const HeadScores& scores);

/// [layer * kvHeads + kvHead] from /scores. Empty where the trace holds no such scores; layers that
/// an unfinished run did not come to are left out. A damaged dataset ends them too, and a sentence
/// in `notes` names it.
std::vector<ImportanceRelation> importanceRelations(const trace::TraceReader& reader,
                                                    std::vector<std::string>& notes);
/// The same from a replay with tokenScores.
std::vector<ImportanceRelation> importanceRelations(const ReplayResult& replay);

/// Of one head; null where it has none.
const ImportanceRelation* relationOf(const std::vector<ImportanceRelation>& relations,
                                     std::int64_t layer, std::int64_t kvHead);

} // namespace ecokv::analysis
