// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"
#include "policy/scorer.h"

namespace ecokv::policy {

namespace {

std::vector<float> score(const Measurement& measured, const ResolvedPolicy&) {
    return measured.common().score;
}

} // namespace

Scorer ecokvScorer() {
    Scorer scorer;
    scorer.info = {
        "ecokv",
        "Mixes window attention with cosine and Euclidean diversity, weighted by the redundancy "
        "of each head.",
        "s = (1 - r) A + r d mean(A) / mean(d); d = alpha d_cos + (1 - alpha) d_euc; "
        "r = clamp(beta r_cos + (1 - beta) r_euc, 0, 1)",
        "ECOKV, arXiv 2609.06663; definition ecokv-1",
        evictionParameters("min(32, floor(budget / 4))",
                           {parameter("window"), parameter("pool"), parameter("pool_mode"),
                            parameter("vnorm"), parameter("alpha"), parameter("beta"),
                            parameter("geometry"), parameter("redundancy")}),
    };
    scorer.defaults = {8, RecentRule::QuarterBudget, kernels::PoolMode::Average, false};
    scorer.score = score;
    return scorer;
}

} // namespace ecokv::policy
