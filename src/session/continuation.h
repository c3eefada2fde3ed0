#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The full cache's greedy continuation, which policies are compared on, and a policy's cache forced
// along it. One thread.

#include "model/model.h"
#include "model/observer.h"
#include "policy/layer_scores.h"
#include "session/answer_generator.h"
#include "session/comparison_metrics.h"

#include <cstdint>
#include <vector>

namespace ecokv::session {

/// The query rows of decoding steps, layer by layer, in host memory.
class QueryRows : public model::LayerObserver {
public:
    std::int64_t windowRows(LayerId) const override { return 1; }
    void layerPrefilled(const model::LayerTensors& tensors) override;

    /// Of the last layer that was heard of: linear ones before it have no rows.
    std::int64_t steps() const { return m_layers.empty() ? 0 : m_layers.back().steps(); }
    TensorView queries(LayerId layer) const; ///< [head, step, dim] f32
    const std::vector<std::int64_t>& positions() const { return m_layers.back().positions; }

private:
    struct Layer {
        std::vector<float> rows; ///< [step, head, dim]
        std::vector<std::int64_t> positions;
        std::int64_t heads = 0, dim = 0;

        std::int64_t steps() const { return static_cast<std::int64_t>(positions.size()); }
    };
    std::vector<Layer> m_layers;
};

struct Continuation {
    Answer answer;
    std::vector<std::vector<float>> logits; ///< [step][vocabulary] each token was chosen from
    QueryRows queries;                      ///< of all steps that read the cache
    double seconds = 0;
};

/// Answers from the full cache, which holds the prompt and the continuation afterwards.
Continuation followFull(model::Model& model, cache::KvCache& full, std::vector<float> logits,
                        GenerationParams params);

/// Feeds the continuation's tokens to `cache`, which grows by them. `seconds` of decoding.
ForcedSteps forceAlong(const Continuation& continuation, model::Model& model, cache::KvCache& cache,
                       const CancellationToken& cancel, double& seconds);

} // namespace ecokv::session
