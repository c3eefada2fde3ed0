// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"
#include "policy/scorer.h"

namespace ecokv::policy {

namespace {

std::vector<float> score(const Measurement& measured, const ResolvedPolicy&) {
    return measured.keys().euclidOnHost();
}

} // namespace

Scorer manifoldkvScorer() {
    Scorer scorer;
    scorer.info = {
        "manifoldkv",
        "Keeps the keys farthest from the centre of all keys.",
        "s = e, e = |k - mean(k)| over the candidates",
        "ManifoldKV: the Euclidean twin of KeyDiff",
        evictionParameters("0", {parameter("geometry")}),
    };
    scorer.info.observes = Observation::Nothing;
    scorer.score = score;
    return scorer;
}

} // namespace ecokv::policy
