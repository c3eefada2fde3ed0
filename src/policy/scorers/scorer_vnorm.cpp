// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"
#include "policy/scorer.h"

namespace ecokv::policy {

namespace {

std::vector<float> score(const Measurement& measured, const ResolvedPolicy&) {
    measured.needValues();
    return measured.ofCandidates(measured.values().norm);
}

} // namespace

Scorer vnormScorer() {
    Scorer scorer;
    scorer.info = {
        "vnorm",
        "Keeps the values of the largest norm.",
        "s = |v|",
        "value norms as in VATP, arXiv 2406.12335, without the attention",
        evictionParameters("0", {}),
    };
    scorer.info.observes = Observation::Nothing;
    scorer.score = score;
    return scorer;
}

} // namespace ecokv::policy
