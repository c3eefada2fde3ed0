#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What happens to a layer right after its prefill: score, plan, measure, record, evict. The model
// calls it through LayerObserver on its own thread.

#include "base/cancellation.h"
#include "cache/kv_cache.h"
#include "model/model_info.h"
#include "model/observer.h"
#include "policy/policy.h"
#include "session/geometry_record.h"
#include "session/query_window.h"
#include "trace/trace_writer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::session {

struct PipelineSetup {
    policy::ResolvedPolicy policy;
    kernels::Backend backend = kernels::Backend::Cpu;
    model::LayerRopes ropes = {};        ///< for geometry = pre
    cache::KvCache* cache = nullptr;     ///< evicted in place
    cache::KvCache* full = nullptr;      ///< gets a copy first, where a full answer is wanted
    trace::TraceWriter* trace = nullptr; ///< records, where a trace is wanted
    std::int64_t recordWindow = 0;       ///< query rows to record
    bool recordValues = true;
    bool recordGeometry = true;
    std::vector<std::uint8_t> tokenKinds =
        {};                          ///< [token] for the geometry of image and text tokens
    QueryWindows* windows = nullptr; ///< one per layer: get the last rows, where they are wanted
    CancellationToken cancel = {};
};

class LayerPipeline : public model::LayerObserver {
public:
    explicit LayerPipeline(PipelineSetup setup);

    std::int64_t windowRows(LayerId layer) const override;
    void layerPrefilled(const model::LayerTensors& tensors) override;

    /// Survivors and measurements of all layers, as /policies/<id> stores them.
    trace::PolicyRecord policyRecord(const std::string& id) const;
    const std::vector<std::string>& notes() const { return m_notes; }
    double scoringSeconds() const { return m_scoringSeconds; }

private:
    bool scoringNeeded() const;
    void passLinearLayers(std::int32_t layer, std::int32_t kvHeads);
    void remember(const cache::LayerPlan& plan);
    void measureAndRecord(const policy::LayerInput& input, const policy::LayerScores& scores,
                          const cache::LayerPlan& plan);

    PipelineSetup m_setup;
    GeometryRecorder m_geometry;
    trace::PolicyRecord m_record;
    std::vector<std::string> m_notes;
    double m_scoringSeconds = 0;
    std::int32_t m_kvHeads = 0;
};

/// The plan that keeps every row of a layer.
cache::LayerPlan keepEverything(LayerId layer, std::int32_t kvHeads, std::int64_t tokens);

} // namespace ecokv::session
