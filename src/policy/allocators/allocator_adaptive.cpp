// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "kernels/top_k.h"
#include "policy/allocator.h"
#include "policy/exact_shares.h"
#include "policy/scorer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

/// NaN ranks below every number, as in topK.
float ranked(float score) {
    return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
}

/// All scores one after the other.
std::vector<float> joined(std::span<const HeadCandidates> heads) {
    std::vector<float> scores;
    for (const HeadCandidates& head : heads) {
        scores.insert(scores.end(), head.score.begin(), head.score.end());
    }
    std::ranges::transform(scores, scores.begin(), ranked);
    return scores;
}

/// The lowest of the `count` best scores.
float borderOf(const std::vector<float>& scores, std::int64_t count) {
    std::vector<std::int32_t> best(static_cast<std::size_t>(count));
    const auto all = static_cast<std::int64_t>(scores.size());
    if (kernels::topK(scores.data(), all, count, best.data(), kernels::Backend::Cpu) !=
        kernels::Status::Ok) {
        throwInternal(fmt::format("Choosing {} of {} candidates failed.", count, all));
    }
    float border = std::numeric_limits<float>::infinity();
    for (const std::int32_t index : best) {
        border = std::min(border, scores[static_cast<std::size_t>(index)]);
    }
    return border;
}

/// Gives `rest` of the candidates at the border to their heads: lower positions first, then lower
/// heads.
void shareTies(std::span<const HeadCandidates> heads, float border, std::int64_t rest,
               std::vector<std::int64_t>& won) {
    for (std::size_t candidate = 0; rest > 0; ++candidate) {
        for (std::size_t head = 0; head < heads.size() && rest > 0; ++head) {
            const std::span<const float> score = heads[head].score;
            if (candidate < score.size() && ranked(score[candidate]) == border) {
                ++won[head];
                --rest;
            }
        }
    }
}

/// How many of the `count` best candidates of all heads together belong to each head.
std::vector<std::int64_t> winners(std::span<const HeadCandidates> heads, std::int64_t count) {
    std::vector<std::int64_t> won(heads.size(), 0);
    if (count == 0) {
        return won;
    }
    const float border = borderOf(joined(heads), count);
    std::int64_t rest = count;
    for (std::size_t head = 0; head < heads.size(); ++head) {
        won[head] = std::ranges::count_if(heads[head].score,
                                          [border](float score) { return score > border; });
        rest -= won[head];
    }
    shareTies(heads, border, rest, won);
    return won;
}

/// Only what is not protected is shared: floor x its own share to every head, the rest as the best
/// candidates of the layer fall (F025).
std::vector<std::int64_t> share(std::span<const HeadCandidates> heads, const PolicyConfig& config) {
    std::int64_t wanted = 0;
    std::int64_t available = 0;
    std::vector<ShareLimits> limits;
    std::vector<double> guaranteed;
    for (const HeadCandidates& head : heads) {
        const auto candidates = static_cast<std::int64_t>(head.score.size());
        const std::int64_t own = std::max<std::int64_t>(head.budget - head.protectedTokens, 0);
        wanted += own;
        available += candidates;
        // A head with nothing protected keeps a token all the same: attention over nothing is NaN.
        const bool bare = head.protectedTokens == 0 && own > 0 && candidates > 0;
        limits.push_back({bare ? 1 : 0, candidates});
        guaranteed.push_back(config.floor * static_cast<double>(std::min(own, candidates)));
    }
    const std::int64_t total = std::min(wanted, available);
    const std::vector<std::int64_t> won = winners(heads, total);
    double rest = static_cast<double>(total);
    for (const double sure : guaranteed) {
        rest -= sure;
    }
    std::vector<double> shares = guaranteed;
    for (std::size_t i = 0; i < heads.size() && total > 0; ++i) {
        shares[i] += rest * static_cast<double>(won[i]) / static_cast<double>(total);
    }
    std::vector<std::int64_t> budgets = roundExactly(shares, limits, total);
    for (std::size_t i = 0; i < heads.size(); ++i) {
        budgets[i] += heads[i].protectedTokens;
    }
    return budgets;
}

} // namespace

Allocator adaptiveAllocator() {
    Allocator allocator;
    allocator.info = {
        "adaptive",
        "Heads of a layer share its budget as the best scores of all of them fall.",
        "b_h = P + floor (B - P) + (1 - floor) n_h, n_h = tokens of head h among the best "
        "H (B - P) candidates of the layer; rounded by largest remainder, sum exactly H x B",
        "AdaKV, arXiv 2407.11550; kvpress guarantees each head its own best floor x B instead",
        {parameter("floor")},
    };
    allocator.shareLayer = share;
    return allocator;
}

} // namespace ecokv::policy
