#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Measurements and scores of a trace's layers, each kept for as long as the settings it depends on
// stay: values on none, attention on the window, keys on the candidates and the geometry, scores on
// everything but budget and allocator. Thread-safe.

#include "analysis/replay.h"
#include "analysis/replay_source.h"
#include "policy/key_reuse.h"
#include "policy/measurement.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ecokv::analysis {

class ReplayMeasurements {
public:
    /// `cacheBytes` bounds tensors and measurements together.
    ReplayMeasurements(std::shared_ptr<const trace::TraceReader> reader, std::size_t cacheBytes);

    ReplaySource& source() { return m_source; }
    const ReplaySource& source() const { return m_source; }

    /// What earlier passes kept may make room from now on.
    void beginPass();

    std::shared_ptr<const policy::WindowMeasurement> window(std::int64_t layer, std::int64_t rows);
    /// Of the arrays over tokens only `score` unless `tokenScores`.
    std::shared_ptr<const policy::LayerScores>
    scores(std::int64_t layer, const policy::ResolvedPolicy& policy, bool tokenScores);

    ReplayStatistics statistics();

private:
    /// Grows while other candidates of the layer are measured; a layer is worked on by one thread.
    struct SharedSums {
        mutable kernels::KeySums sums;
    };

    std::shared_ptr<const SharedSums> keySums(const policy::LayerInput& input, std::int64_t first,
                                              policy::Geometry geometry);
    policy::MeasuredParts parts(std::int64_t layer, const policy::ResolvedPolicy& policy);

    ReplaySource m_source;
    ReplayCache m_cache;
};

} // namespace ecokv::analysis
