// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"
#include "policy/scorer.h"

namespace ecokv::policy {

namespace {

/// Nothing is evicted; the score shown is what ecokv would have said.
std::vector<float> score(const Measurement& measured, const ResolvedPolicy&) {
    return measured.common().score;
}

} // namespace

Scorer fullScorer() {
    Scorer scorer;
    scorer.info = {
        "full",
        "Keeps every token; the reference that all policies are compared with.",
        "keep all; the score shown is that of ecokv",
        "-",
        {},
    };
    scorer.keepsAll = true;
    scorer.score = score;
    return scorer;
}

} // namespace ecokv::policy
