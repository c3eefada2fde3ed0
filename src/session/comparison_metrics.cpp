// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/comparison_metrics.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ecokv::session {

double logSumExp(std::span<const float> logits) {
    const double top = logits[static_cast<std::size_t>(topToken(logits))];
    double sum = 0;
    for (const float logit : logits) {
        sum += std::exp(static_cast<double>(logit) - top);
    }
    return top + std::log(sum);
}

double klDivergence(std::span<const float> full, std::span<const float> kept) {
    if (full.size() != kept.size()) {
        throwInternal(fmt::format("Distributions over {} and {} tokens were compared.", full.size(),
                                  kept.size()));
    }
    const double fullSum = logSumExp(full), keptSum = logSumExp(kept);
    double divergence = 0;
    for (std::size_t i = 0; i < full.size(); ++i) {
        const double logFull = static_cast<double>(full[i]) - fullSum;
        const double probability = std::exp(logFull);
        if (probability > 0) { // 0 log 0 = 0, also where the other logarithm is infinite
            divergence += probability * (logFull - (static_cast<double>(kept[i]) - keptSum));
        }
    }
    return std::max(divergence, 0.0); // rounding of equal distributions may fall below
}

TokenId topToken(std::span<const float> logits) {
    std::size_t best = 0;
    for (std::size_t id = 1; id < logits.size(); ++id) {
        if (logits[id] > logits[best] || (std::isnan(logits[best]) && !std::isnan(logits[id]))) {
            best = id;
        }
    }
    return static_cast<TokenId>(best);
}

ForcedSummary summarise(const ForcedSteps& steps, std::span<const float> fullLogprob) {
    const std::size_t count = steps.kl.size();
    if (steps.top1Agree.size() != count || steps.logprob.size() != count ||
        fullLogprob.size() != count) {
        throwInternal("The steps of a comparison have different lengths.");
    }
    if (count < 2) {
        return {};
    }
    double kl = 0, agreed = 0, lost = 0;
    for (std::size_t step = 1; step < count; ++step) {
        kl += static_cast<double>(steps.kl[step]);
        agreed += steps.top1Agree[step] != 0 ? 1 : 0;
        lost += static_cast<double>(fullLogprob[step]) - static_cast<double>(steps.logprob[step]);
    }
    const auto measured = static_cast<double>(count - 1);
    return {kl / measured, agreed / measured, std::exp(lost / measured)};
}

} // namespace ecokv::session
