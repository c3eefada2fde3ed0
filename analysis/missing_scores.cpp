// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/missing_scores.h"

#include <limits>

namespace ecokv::analysis {

namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

} // namespace

void blankHeads(policy::LayerScores& scores) {
    for (auto* values : {&scores.redundancy, &scores.redundancyCosine, &scores.redundancyEuclid,
                         &scores.anisotropy, &scores.meanKeyNorm}) {
        values->assign(static_cast<std::size_t>(scores.kvHeads), kNone);
    }
}

policy::LayerScores missingScores(LayerId layer, const trace::Dimensions& dimensions,
                                  bool tokenScores) {
    policy::LayerScores scores;
    scores.layer = layer;
    scores.kvHeads = static_cast<std::int32_t>(dimensions.kvHeads);
    scores.tokens = dimensions.tokens;
    blankHeads(scores);
    const auto entries = static_cast<std::size_t>(dimensions.kvHeads * dimensions.tokens);
    scores.score.assign(entries, kNone);
    if (tokenScores) {
        for (auto* values : {&scores.importance, &scores.diversityCosine, &scores.diversityEuclid,
                             &scores.diversity, &scores.keyNorm, &scores.valueNorm}) {
            values->assign(entries, kNone);
        }
    }
    return scores;
}

} // namespace ecokv::analysis
