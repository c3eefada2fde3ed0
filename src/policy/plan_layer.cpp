// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "kernels/top_k.h"
#include "policy/policy.h"

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

void appendRange(std::vector<std::int32_t>& rows, std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
        rows.push_back(static_cast<std::int32_t>(row));
    }
}

/// Protected tokens are kept by index, never through a score that must win (F011).
std::vector<std::int32_t> keptRows(const float* score, const ResolvedPolicy& policy) {
    const std::int64_t begin = policy.candidateBegin();
    const std::int64_t end = policy.candidateEnd();
    const std::int64_t chosen = policy.budget - policy.sink - policy.recent;
    std::vector<std::int32_t> best(static_cast<std::size_t>(chosen));
    const kernels::Status status =
        kernels::topK(score + begin, end - begin, chosen, best.data(), kernels::Backend::Cpu);
    if (status != kernels::Status::Ok) {
        throwInternal(fmt::format("Choosing {} of {} candidates failed: {}.", chosen, end - begin,
                                  kernels::statusText(status)));
    }
    std::vector<std::int32_t> rows;
    rows.reserve(static_cast<std::size_t>(policy.budget));
    appendRange(rows, 0, begin);
    for (const std::int32_t candidate : best) {
        rows.push_back(candidate + static_cast<std::int32_t>(begin));
    }
    appendRange(rows, end, policy.tokens);
    return rows;
}

} // namespace

cache::LayerPlan planLayer(const LayerScores& scores, const ResolvedPolicy& policy) {
    if (scores.tokens != policy.tokens) {
        throwInternal(fmt::format("Layer {} was scored for {} tokens and planned for {}.",
                                  scores.layer.value, scores.tokens, policy.tokens));
    }
    cache::LayerPlan plan{scores.layer, {}, policy.compresses};
    for (std::int32_t head = 0; head < scores.kvHeads; ++head) {
        if (policy.compresses) {
            plan.keptRows.push_back(keptRows(scores.score.data() + head * scores.tokens, policy));
        } else {
            std::vector<std::int32_t>& rows = plan.keptRows.emplace_back();
            appendRange(rows, 0, policy.tokens);
        }
    }
    return plan;
}

} // namespace ecokv::policy
