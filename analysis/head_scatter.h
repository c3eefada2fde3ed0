#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Importance against diversity of one head, with its survivors. Reads the head's scores from the
// trace.

#include "analysis/trace_document.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::analysis {

enum class DiversityKind : std::uint8_t { Composite, Cosine, Euclid };

struct ScatterPoint {
    std::int64_t token = 0;
    float importance = 0, diversity = 0, score = 0;
    std::uint8_t kind = 0; ///< 0 text, 1 special, 2 image
    bool kept = false;
};

struct HeadScatter {
    std::string policyId; ///< whose survivors are marked; scores are those of mainPolicy()
    std::int64_t layer = 0, kvHead = 0;
    std::vector<ScatterPoint> points; ///< candidates only, by token
    double spearman = 0; ///< rank correlation of importance and diversity, NaN if undefined
    double redundancyCosine = 0, redundancyEuclid = 0, redundancy = 0, anisotropy = 0;
};

HeadScatter headScatter(const TraceDocument& document, const std::string& policyId,
                        std::int64_t layer, std::int64_t kvHead, DiversityKind kind);

} // namespace ecokv::analysis
