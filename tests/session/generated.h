#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Answers of the toy model with an evictor at work, for tests of what is left in the cache.

#include "session/answer_generator.h"
#include "session/decode_evictor.h"
#include "session/toy_model.h"

#include <string>
#include <vector>

namespace ecokv::session {

inline constexpr std::int64_t kHeadsInAll = std::int64_t{ToyModel::kLayers} * ToyModel::kKvHeads;
inline constexpr std::uint64_t kRowBytes = 2ULL * ToyModel::kDim * sizeof(float); // key and value

inline DecodeEvictionSetup setupOf(const std::string& scorer, const std::string& allocator,
                                   std::int64_t budget, std::int64_t every) {
    DecodeEvictionSetup setup;
    setup.policy.scorer = scorer;
    setup.policy.allocator = allocator;
    setup.policy.budget = budget;
    setup.shape = {ToyModel::kLayers, ToyModel::kKvHeads, "toy"};
    setup.every = every;
    return setup;
}

/// Prompt, then an answer of `steps` tokens.
struct Generated {
    Answer answer;
    cache::KvCache cache;
};

inline Generated generate(DecodeEvictor* evictor, std::int64_t prompt, std::int64_t steps) {
    ToyModel model;
    Generated result{{}, cache::KvCache(model.cacheShape())};
    const std::vector<TokenId> ids(static_cast<std::size_t>(prompt), 1);
    std::vector<float> logits = model.extend(ids, result.cache, evictor, {}, {});
    GenerationParams params;
    params.maxNewTokens = steps;
    params.evictor = evictor;
    result.answer = generateAnswer(model, result.cache, logits, params);
    return result;
}

inline std::vector<std::int64_t> positionsOf(const cache::KvCache& cache, int layer, int head) {
    const auto span = cache.positions(LayerId{layer}, HeadId{head});
    return {span.begin(), span.end()};
}

} // namespace ecokv::session
