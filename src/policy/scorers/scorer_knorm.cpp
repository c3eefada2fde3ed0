// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"
#include "policy/scorer.h"

#include <algorithm>
#include <functional>

namespace ecokv::policy {

namespace {

std::vector<float> score(const Measurement& measured, const ResolvedPolicy&) {
    std::vector<float> scores = measured.ofCandidates(measured.keys().norm);
    std::ranges::transform(scores, scores.begin(), std::negate());
    return scores;
}

} // namespace

Scorer knormScorer() {
    Scorer scorer;
    scorer.info = {
        "knorm",
        "Keeps the keys of the smallest norm.",
        "s = -|k|",
        "L2 norm strategy, arXiv 2406.11430; equal to kvpress KnormPress",
        evictionParameters("0", {}),
    };
    scorer.info.observes = Observation::Nothing;
    scorer.score = score;
    return scorer;
}

} // namespace ecokv::policy
