// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/head_scatter.h"

#include "analysis/rank_correlation.h"
#include "analysis/survival.h"

#include <cmath>
#include <limits>

namespace ecokv::analysis {

namespace {

const char* diversityName(DiversityKind kind) {
    switch (kind) {
    case DiversityKind::Cosine:
        return "diversity_cosine";
    case DiversityKind::Euclid:
        return "diversity_euclid";
    case DiversityKind::Composite:
        break;
    }
    return "diversity";
}

/// NaN where the trace does not hold the metric.
double metricAt(const TraceDocument& document, const std::string& name, std::size_t head) {
    const auto* values = document.headMetric(name);
    return values ? static_cast<double>((*values)[head]) : std::numeric_limits<double>::quiet_NaN();
}

double correlate(const std::vector<ScatterPoint>& points) {
    std::vector<float> importance, diversity;
    for (const ScatterPoint& point : points) {
        importance.push_back(point.importance);
        diversity.push_back(point.diversity);
    }
    return spearman(importance, diversity);
}

} // namespace

HeadScatter headScatter(const TraceDocument& document, const std::string& policyId,
                        std::int64_t layer, std::int64_t kvHead, DiversityKind kind) {
    HeadScatter scatter;
    scatter.policyId = policyId;
    scatter.layer = layer;
    scatter.kvHead = kvHead;
    const auto kept = survival(document, {policyId, SurvivalMode::Head, layer, kvHead}).share;
    const auto importance = document.reader->scores("importance", layer, kvHead);
    const auto diversity = document.reader->scores(diversityName(kind), layer, kvHead);
    const auto score = document.reader->scores("score", layer, kvHead);
    for (std::size_t token = 0; token < importance.size(); ++token) {
        if (!std::isfinite(importance[token]) || !std::isfinite(diversity[token])) {
            continue; // protected tokens are no candidates
        }
        scatter.points.push_back(
            {static_cast<std::int64_t>(token), importance[token], diversity[token], score[token],
             document.prompt ? document.prompt->tokenKind[token] : std::uint8_t{0},
             kept[token] > 0});
    }
    scatter.spearman = correlate(scatter.points);
    const auto head = static_cast<std::size_t>(layer * document.dimensions.kvHeads + kvHead);
    scatter.redundancyCosine = metricAt(document, "redundancy_cosine", head);
    scatter.redundancyEuclid = metricAt(document, "redundancy_euclid", head);
    scatter.redundancy = metricAt(document, "redundancy", head);
    scatter.anisotropy = metricAt(document, "anisotropy", head);
    return scatter;
}

} // namespace ecokv::analysis
