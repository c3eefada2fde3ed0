#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What happens to a layer of a comparison right after its prefill: every policy is scored and
// planned from the same tensors and gets its own compressed copy, the full cache stays. The model
// calls it through LayerObserver on its own thread.

#include "base/cancellation.h"
#include "cache/kv_cache.h"
#include "model/model_info.h"
#include "model/observer.h"
#include "session/compared_variants.h"
#include "session/geometry_record.h"
#include "trace/trace_writer.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace ecokv::session {

struct ComparedPrefillSetup {
    std::vector<Variant>* variants = nullptr; ///< caches, plans and errors are filled in
    const cache::KvCache* full = nullptr;     ///< the cache the model prefills
    kernels::Backend backend = kernels::Backend::Cpu;
    model::LayerRopes ropes;             ///< for geometry = pre
    trace::TraceWriter* trace = nullptr; ///< records, where a trace is wanted
    std::int64_t recordWindow = 0;       ///< query rows to record
    bool recordValues = true;
    bool recordGeometry = true;
    std::vector<std::uint8_t> tokenKinds; ///< [token] as the prompt numbers them
    CancellationToken cancel;
};

class ComparedPrefill : public model::LayerObserver {
public:
    explicit ComparedPrefill(ComparedPrefillSetup setup);

    std::int64_t windowRows(LayerId layer) const override;
    void layerPrefilled(const model::LayerTensors& tensors) override;

    const std::vector<std::string>& notes() const { return m_notes; } ///< each once
    double scoringSeconds() const { return m_scoringSeconds; }

private:
    void keep(Variant& variant, const policy::LayerScores& scores);
    void record(const policy::LayerInput& onHost, const policy::LayerScores& scores);
    void predictErrors(const policy::LayerInput& onHost);
    void collect(const std::vector<std::string>& notes);

    ComparedPrefillSetup m_setup;
    std::size_t m_recorded = 0; ///< variant whose scores go into the trace
    GeometryRecorder m_geometry;
    std::vector<std::string> m_notes;
    std::set<std::string> m_told;
    double m_scoringSeconds = 0;
};

} // namespace ecokv::session
