#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Decodes an answer token by token from a prefilled cache and streams whole characters.

#include "base/cancellation.h"
#include "cache/kv_cache.h"
#include "model/model.h"
#include "session/run_result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ecokv::session {

class DecodeEvictor;

struct GenerationParams {
    std::int64_t maxNewTokens = 0;
    model::SamplingParams sampling;
    /// Called with pieces that end on a character boundary (field case F118).
    std::function<void(const std::string&)> onText;
    /// Called after each token with the count so far.
    std::function<void(std::int64_t)> onToken;
    /// Called with the logits [vocabulary] each token is chosen from.
    std::function<void(const std::vector<float>&)> onLogits;
    model::LayerObserver* observer = nullptr; ///< of every decoding step
    /// Keeps the cache bounded and observes the steps in place of `observer`; none = it grows.
    DecodeEvictor* evictor = nullptr;
    CancellationToken cancel;
};

/// `logits` [vocabulary] f32 of the last prompt token.
Answer generateAnswer(model::Model& model, cache::KvCache& cache, std::vector<float> logits,
                      const GenerationParams& params);

/// Appends what each head of `cache` holds with the token that comes next.
void noteLengths(const cache::KvCache& cache, CacheHistory& history);

/// Natural log of the softmax probability of `id` in `logits`.
float logProbability(const std::vector<float>& logits, TokenId id);

/// Length in bytes of the longest prefix of `text` that is certain not to change when more tokens
/// arrive: everything before trailing replacement characters.
std::size_t stablePrefix(const std::string& text);

} // namespace ecokv::session
