#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Which tokens survive, for one head or over all heads of a layer or of the model. Pure functions.

#include "analysis/trace_document.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::analysis {

enum class SurvivalMode : std::uint8_t {
    Head,         ///< one KV head
    Union,        ///< kept by any head of the scope
    Intersection, ///< kept by every head of the scope
    Count,        ///< share of heads of the scope that keep it
};

struct SurvivalQuery {
    std::string policyId;
    SurvivalMode mode = SurvivalMode::Head;
    std::int64_t layer = 0;  ///< -1 = all layers that count (not with Head)
    std::int64_t kvHead = 0; ///< only with Head
};

struct SurvivalResult {
    std::vector<float> share; ///< [token] 0..1: 0 evicted, 1 kept by all asked
    /// In the scope: over all layers those that count (LayerKinds). 0 = a linear layer.
    std::int64_t heads = 0;
    std::int64_t slidingLayers = 0; ///< of the scope, left out
    std::int64_t kept = 0;          ///< tokens with share > 0
    /// Every token that is not of an image counts as text.
    std::int64_t keptImage = 0, keptText = 0, imageTokens = 0, textTokens = 0;
};

/// Throws Error{Usage} for an unknown policy, layer or head.
SurvivalResult survival(const TraceDocument& document, const SurvivalQuery& query);

} // namespace ecokv::analysis
