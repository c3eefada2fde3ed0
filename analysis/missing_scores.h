#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Scores of layers of which there is nothing to say: NaN in every place. Pure functions.

#include "policy/layer_scores.h"
#include "trace/trace_records.h"

namespace ecokv::analysis {

/// Of a layer without a KV cache; of the arrays over tokens only `score` unless `tokenScores`.
policy::LayerScores missingScores(LayerId layer, const trace::Dimensions& dimensions,
                                  bool tokenScores);

/// Takes away what is said of heads; scores of tokens stay.
void blankHeads(policy::LayerScores& scores);

} // namespace ecokv::analysis
