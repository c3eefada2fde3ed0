// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"
#include "policy/scorer.h"

#include <algorithm>
#include <functional>

namespace ecokv::policy {

namespace {

std::vector<float> score(const Measurement& measured, const ResolvedPolicy&) {
    std::vector<float> scores = measured.keys().cosineOnHost();
    std::ranges::transform(scores, scores.begin(), std::negate());
    return scores;
}

} // namespace

Scorer keydiffScorer() {
    Scorer scorer;
    scorer.info = {
        "keydiff",
        "Keeps the keys least similar to the mean direction of all keys.",
        "s = -c, c = u . mu, u = k / |k|, mu = mean(u) over the candidates",
        "KeyDiff, arXiv 2504.15364; the order of kvpress KeyDiffPress, which divides c by |mu|",
        evictionParameters("0", {parameter("geometry")}),
    };
    scorer.info.observes = Observation::Nothing;
    scorer.score = score;
    return scorer;
}

} // namespace ecokv::policy
