// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"
#include "policy/scorer.h"

namespace ecokv::policy {

namespace {

constexpr double kCosineOnly = 1.0;

/// ecokv with the cosine alone, whatever alpha and beta the shown statistics are mixed with.
std::vector<float> score(const Measurement& measured, const ResolvedPolicy&) {
    return measured.composite(kCosineOnly, measured.redundancy(kCosineOnly)).score;
}

} // namespace

Scorer mixkvScorer() {
    Scorer scorer;
    scorer.info = {
        "mixkv",
        "Mixes window attention and value norms with cosine diversity, weighted by the cosine "
        "redundancy of each head.",
        "s = (1 - r_cos) (A + N) + r_cos d_cos mean(A + N) / mean(d_cos), N = scaled minmax(|v|)",
        "MixKV, with r measured on this prompt and the mean key taken over the candidates; "
        "redundancy=table:FILE takes stored weights as its code does",
        evictionParameters("window", {parameter("window", "32, or half of a budget up to 32"),
                                      parameter("pool"), parameter("pool_mode", "avg-padded"),
                                      parameter("vnorm", "on"), parameter("geometry"),
                                      parameter("redundancy")}),
    };
    scorer.defaults = {32, RecentRule::TiedToWindow, kernels::PoolMode::AveragePadded, true};
    scorer.score = score;
    return scorer;
}

} // namespace ecokv::policy
