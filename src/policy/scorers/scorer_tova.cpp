// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"
#include "policy/scorer.h"

namespace ecokv::policy {

namespace {

/// Every head keeps the same tokens.
std::vector<float> score(const Measurement& measured, const ResolvedPolicy&) {
    const std::vector<float> attention = measured.ofCandidates(measured.window().attentionOnHost());
    const auto count = static_cast<std::size_t>(measured.candidates());
    const auto heads = static_cast<std::size_t>(measured.kvHeads());
    std::vector<float> scores(attention.size());
    for (std::size_t token = 0; token < count; ++token) {
        double sum = 0;
        for (std::size_t head = 0; head < heads; ++head) {
            sum += static_cast<double>(attention[head * count + token]);
        }
        for (std::size_t head = 0; head < heads; ++head) {
            scores[head * count + token] = static_cast<float>(sum / static_cast<double>(heads));
        }
    }
    return scores;
}

} // namespace

Scorer tovaScorer() {
    Scorer scorer;
    scorer.info = {
        "tova",
        "Keeps the tokens that the last query attends to, averaged over all heads of the layer.",
        "s = mean over all query heads of softmax(q_last K)",
        "TOVA, arXiv 2401.06104; equal to kvpress TOVAPress",
        evictionParameters("1", {}),
    };
    scorer.info.observes = Observation::LastRow;
    scorer.defaults.recent = RecentRule::LastToken;
    scorer.score = score;
    return scorer;
}

} // namespace ecokv::policy
