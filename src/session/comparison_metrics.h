#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How far the next-token distributions of an evicted cache are from those of the full cache
// (ecokv-1, "Quality against the full cache"). Natural logarithms, float64 over float32 logits.
// Pure functions.

#include "base/ids.h"
#include "session/run_result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ecokv::session {

/// log(sum(exp(logits))).
double logSumExp(std::span<const float> logits);

/// KL(full || kept) = sum p log(p / q) of two next-token distributions [vocabulary], in nats.
double klDivergence(std::span<const float> full, std::span<const float> kept);

/// The greedy choice, as model::Sampler makes it: highest logit, ties to the lower id, NaN last.
TokenId topToken(std::span<const float> logits);

/// A policy teacher-forced on the full cache's continuation. Step 0 is the prefill's own
/// distribution, which all policies share.
struct ForcedSteps {
    std::vector<float> kl;               ///< [step] nats
    std::vector<std::uint8_t> top1Agree; ///< [step] 1 = the greedy choice is the same
    std::vector<float> logprob;          ///< [step] of the continuation's token, kept cache
    std::vector<TokenId> top;            ///< [step] greedy choice of the kept cache
    CacheHistory cache = {};             ///< of the kept cache
};

/// Means over the steps that read the evicted cache: all but step 0. Empty = there is none.
struct ForcedSummary {
    std::optional<double> meanKl;          ///< nats
    std::optional<double> top1Agreement;   ///< 0..1
    std::optional<double> perplexityRatio; ///< kept / full, on the continuation's tokens
};

/// `fullLogprob` [step]: log-probabilities of the same tokens from the full cache.
ForcedSummary summarise(const ForcedSteps& steps, std::span<const float> fullLogprob);

} // namespace ecokv::session
