// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"
#include "policy/scorer.h"

namespace ecokv::policy {

namespace {

/// Later is better, so the budget goes to the sinks and to the end. Exact up to 2^24 tokens.
std::vector<float> score(const Measurement& measured, const ResolvedPolicy&) {
    std::vector<float> scores;
    for (std::int64_t head = 0; head < measured.kvHeads(); ++head) {
        for (std::int64_t token = 0; token < measured.candidates(); ++token) {
            scores.push_back(static_cast<float>(measured.firstCandidate() + token));
        }
    }
    return scores;
}

} // namespace

Scorer streamingScorer() {
    Scorer scorer;
    scorer.info = {
        "streaming",
        "Keeps the sinks and the most recent tokens, whatever they say.",
        "s = position",
        "StreamingLLM, arXiv 2309.17453 (which uses sink = 4)",
        evictionParameters("0", {}),
    };
    scorer.info.observes = Observation::Nothing;
    scorer.score = score;
    return scorer;
}

} // namespace ecokv::policy
