#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Keeps a cache bounded while it generates: remembers the last query rows, and before every k-th
// token brings each layer that is evicted back to the decode budget, the incoming token counted.
// Sliding layers are left alone, as in the prefill (field case F034). One generation, one thread.

#include "cache/kv_cache.h"
#include "model/model_info.h"
#include "model/observer.h"
#include "policy/policy.h"
#include "session/query_window.h"
#include "session/run_config.h"
#include "session/run_result.h"

#include <cstdint>
#include <vector>

namespace ecokv::session {

struct DecodeEvictionSetup {
    policy::PolicyConfig policy; ///< its budget is the mean number of tokens per head to keep
    policy::ModelShape shape;
    std::int64_t every = 16; ///< tokens between two evictions
    kernels::Backend backend = kernels::Backend::Cpu;
    model::LayerRopes ropes; ///< for geometry = pre
};

/// The settings of a run with its decode budget in place of the prefill's; the model's part is left
/// to the caller.
DecodeEvictionSetup decodeSetup(const RunConfig& config);

/// The decode policy's exact numbers. Throws Error{Usage} for policies that keep everything or need
/// rows that are gone, and for budgets that leave no room for the new token.
policy::ResolvedPolicy resolveDecode(const DecodeEvictionSetup& setup);

class DecodeEvictor : public model::LayerObserver {
public:
    explicit DecodeEvictor(DecodeEvictionSetup setup);

    /// Starts from query rows that were seen before, those of the prompt.
    void seed(const QueryWindows& windows);

    std::int64_t windowRows(LayerId layer) const override;
    void layerPrefilled(const model::LayerTensors& tensors) override;

    /// Called before token `step` of the answer is stored. Each layer then holds at most the budget
    /// per head on average with that token in it, and at most `every` - 1 more until the next call
    /// that evicts. Appends what left to `evictions`.
    void makeRoom(cache::KvCache& cache, std::int64_t step, std::vector<Eviction>& evictions);

private:
    /// What is known of one head before its layer is planned.
    struct HeadState {
        policy::TokenRange candidates;
        std::int64_t rows = 0;
        std::vector<float> score; ///< [candidate]
    };

    std::int64_t target(LayerId layer, std::int32_t kvHead) const;
    bool isOver(const cache::KvCache& cache, LayerId layer) const;
    /// Heads that hold the same tokens are scored together, for policies that look at all of them.
    std::vector<HeadState> scoreLayer(const cache::KvCache& cache, LayerId layer,
                                      std::int64_t step) const;
    std::vector<HeadState> scoreHeads(const cache::KvCache& cache, policy::LayerInput input,
                                      std::int64_t step) const;
    cache::LayerPlan planLayer(const cache::KvCache& cache, LayerId layer, std::int64_t step) const;

    DecodeEvictionSetup m_setup;
    policy::ResolvedPolicy m_policy;
    QueryWindows m_windows; ///< [layer]
};

} // namespace ecokv::session
