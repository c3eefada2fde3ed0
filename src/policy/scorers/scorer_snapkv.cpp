// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"
#include "policy/scorer.h"

namespace ecokv::policy {

namespace {

/// The composite score with r = 0.
std::vector<float> score(const Measurement& measured, const ResolvedPolicy&) {
    return measured.common().importance;
}

} // namespace

Scorer snapkvScorer() {
    Scorer scorer;
    scorer.info = {
        "snapkv",
        "Keeps the tokens that the last query rows attend to.",
        "s = pool(A), A = mean attention of the window rows and grouped query heads",
        "SnapKV, arXiv 2404.14469; equal to kvpress SnapKVPress",
        evictionParameters("window", {parameter("window", "32, or half of a budget up to 32"),
                                      parameter("pool"), parameter("pool_mode", "avg-padded"),
                                      parameter("vnorm")}),
    };
    scorer.defaults = {32, RecentRule::TiedToWindow, kernels::PoolMode::AveragePadded, false};
    scorer.score = score;
    return scorer;
}

} // namespace ecokv::policy
