#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The geometry of keys as a trace records it: of the policy's candidates, of all image tokens, of
// all other tokens, each as cached and un-rotated. One thread.

#include "policy/head_geometry.h"
#include "policy/layer_scores.h"
#include "trace/trace_records.h"

#include <cstdint>
#include <map>
#include <span>

namespace ecokv::session {

class GeometryRecorder {
public:
    /// Not detailed: the participation ratio alone, what every trace holds. `kinds` [token] as the
    /// prompt numbers them.
    GeometryRecorder(const policy::ResolvedPolicy& policy, std::vector<std::uint8_t> kinds,
                     bool detailed);

    /// Adds head metrics and spectra to `record`: the keys are read here, the rest is left to the
    /// writing thread. Metrics that the record holds already stay as they are.
    /// `input` on the host, with the rotation where there is one; the same positions every time,
    /// and the same rotation where its frequencies lie in the same memory.
    void add(const policy::LayerInput& input, trace::LayerRecord& record);

private:
    const policy::GeometryMeter& meterOf(const policy::LayerInput& input);

    policy::TokenRange m_candidates;
    std::vector<std::uint8_t> m_kinds;
    bool m_detailed = true;
    std::map<const float*, policy::GeometryMeter> m_meters; ///< by the frequencies
};

} // namespace ecokv::session
