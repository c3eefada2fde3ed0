// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"
#include "policy/scorer.h"

#include <algorithm>

namespace ecokv::policy {

namespace {

std::vector<float> score(const Measurement& measured, const ResolvedPolicy&) {
    std::vector<float> scores = measured.ofCandidates(measured.window().attentionOnHost());
    const auto rows = static_cast<float>(measured.window().window);
    std::ranges::transform(scores, scores.begin(), [rows](float mean) { return mean * rows; });
    return scores;
}

} // namespace

Scorer h2oScorer() {
    Scorer scorer;
    scorer.info = {
        "h2o",
        "Keeps heavy hitters: the tokens that gathered most attention over all query rows.",
        "s = sum over all rows of the causal attention, mean over the grouped query heads",
        "H2O, arXiv 2306.14048, prefill form: half of the budget for the most recent tokens",
        evictionParameters("floor((budget - sink) / 2)", {}),
    };
    scorer.info.observes = Observation::AllRows;
    scorer.defaults.recent = RecentRule::HalfBudget;
    scorer.score = score;
    return scorer;
}

} // namespace ecokv::policy
