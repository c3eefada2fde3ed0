// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "kernels/top_k.h"
#include "policy/allocator.h"
#include "policy/policy.h"

#include <algorithm>

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

void appendRange(std::vector<std::int32_t>& rows, std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
        rows.push_back(static_cast<std::int32_t>(row));
    }
}

void checkFit(const LayerScores& scores, const ResolvedPolicy& policy) {
    if (scores.tokens != policy.tokens) {
        throwInternal(fmt::format("Layer {} was scored for {} tokens and planned for {}.",
                                  scores.layer.value, scores.tokens, policy.tokens));
    }
    if (!policy.headBudgets.empty() && scores.kvHeads != policy.shape.kvHeads) {
        throwInternal(fmt::format("Layer {} has {} KV heads and its budget was shared over {}.",
                                  scores.layer.value, scores.kvHeads, policy.shape.kvHeads));
    }
}

} // namespace

std::vector<std::int32_t> selectRows(std::span<const float> score, TokenRange candidates,
                                     std::int64_t tokens, std::int64_t budget) {
    const std::int64_t chosen = budget - (tokens - candidates.count);
    std::vector<std::int32_t> best(static_cast<std::size_t>(std::max<std::int64_t>(chosen, 0)));
    const kernels::Status status =
        kernels::topK(score.data(), candidates.count, chosen, best.data(), kernels::Backend::Cpu);
    if (chosen < 0 || status != kernels::Status::Ok) {
        throwInternal(
            fmt::format("Choosing {} of {} candidates failed.", chosen, candidates.count));
    }
    std::vector<std::int32_t> rows;
    rows.reserve(static_cast<std::size_t>(budget));
    appendRange(rows, 0, candidates.first);
    for (const std::int32_t candidate : best) {
        rows.push_back(candidate + static_cast<std::int32_t>(candidates.first));
    }
    appendRange(rows, candidates.end(), tokens);
    return rows;
}

cache::LayerPlan planLayer(const LayerScores& scores, const ResolvedPolicy& policy) {
    checkFit(scores, policy);
    const bool evicts = policy.compresses && policy.shape.canEvict(scores.layer.value); // F034
    cache::LayerPlan plan{scores.layer, {}, evicts};
    if (!evicts) {
        std::vector<std::int32_t> all;
        appendRange(all, 0, policy.tokens);
        plan.keptRows.assign(static_cast<std::size_t>(scores.kvHeads), all);
        return plan;
    }
    const TokenRange candidates = policy.candidates();
    std::vector<HeadCandidates> heads;
    for (std::int32_t head = 0; head < scores.kvHeads; ++head) {
        const float* row = scores.score.data() + head * scores.tokens + candidates.first;
        heads.push_back({{row, static_cast<std::size_t>(candidates.count)},
                         policy.headBudget(scores.layer.value, head),
                         policy.tokens - candidates.count});
    }
    const std::vector<std::int64_t> budgets = allocateLayer(heads, policy.config);
    for (std::size_t head = 0; head < heads.size(); ++head) {
        plan.keptRows.push_back(
            selectRows(heads[head].score, candidates, policy.tokens, budgets[head]));
    }
    return plan;
}

} // namespace ecokv::policy
