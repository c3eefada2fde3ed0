// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/replay_measurements.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace ecokv::analysis {

namespace {

/// Of the cache; the rest is for measurements, which cost more per byte to make again.
std::size_t tensorBytes(std::size_t cacheBytes) {
    return cacheBytes / 2;
}

/// Everything a score depends on: a budget only through what it protects, an allocator not at all.
std::string scoreKey(const policy::ResolvedPolicy& policy) {
    policy::PolicyConfig config = policy.config;
    config.budget = 0;
    config.ratio.reset();
    config.allocator = policy::PolicyConfig{}.allocator;
    config.floor = policy::PolicyConfig{}.floor;
    config.pyramidBeta = policy::PolicyConfig{}.pyramidBeta;
    config.headWeights.clear();
    config.window = policy.window;
    config.recent = policy.recent;
    config.sink = policy.sink;
    config.poolMode = policy.poolMode;
    config.valueNorm = policy.valueNorm;
    return policy::policyText(config);
}

/// Leaves what planning and head maps need.
void dropTokenScores(policy::LayerScores& scores) {
    for (auto* values : {&scores.importance, &scores.diversityCosine, &scores.diversityEuclid,
                         &scores.diversity, &scores.keyNorm, &scores.valueNorm}) {
        *values = {};
    }
}

std::size_t bytesOf(const policy::LayerScores& scores) {
    std::size_t floats = 0;
    for (const auto* values :
         {&scores.importance, &scores.diversityCosine, &scores.diversityEuclid, &scores.diversity,
          &scores.score, &scores.keyNorm, &scores.valueNorm}) {
        floats += values->size();
    }
    return floats * sizeof(float);
}

} // namespace

ReplayMeasurements::ReplayMeasurements(std::shared_ptr<const trace::TraceReader> reader,
                                       std::size_t cacheBytes)
    : m_source(std::move(reader), tensorBytes(cacheBytes)),
      m_cache(cacheBytes - tensorBytes(cacheBytes)) {}

void ReplayMeasurements::beginPass() {
    m_cache.beginPass();
    m_source.cache().beginPass();
}

ReplayStatistics ReplayMeasurements::statistics() {
    return {m_source.cache().bytes(), m_cache.bytes(), m_cache.hits(), m_cache.misses()};
}

std::shared_ptr<const policy::WindowMeasurement> ReplayMeasurements::window(std::int64_t layer,
                                                                            std::int64_t rows) {
    using Window = policy::WindowMeasurement;
    return m_cache.get<Window>(
        fmt::format("window {} {}", layer, rows),
        [&] {
            return policy::measureWindow(m_source.layer(layer, false).input, rows,
                                         kernels::Backend::Cpu);
        },
        [](const Window& part) { return part.bytes(); });
}

std::shared_ptr<const ReplayMeasurements::SharedSums>
ReplayMeasurements::keySums(const policy::LayerInput& input, std::int64_t first,
                            policy::Geometry geometry) {
    return m_cache.get<SharedSums>(
        fmt::format("sums {} {} {}", input.layer.value, first, static_cast<int>(geometry)),
        [&] {
            return std::make_shared<const SharedSums>(
                SharedSums{policy::keySumsFor(input, first, geometry)});
        },
        [](const SharedSums& shared) { return shared.sums.bytes(); });
}

policy::MeasuredParts ReplayMeasurements::parts(std::int64_t layer,
                                                const policy::ResolvedPolicy& policy) {
    const policy::TokenRange range = policy.candidates();
    const policy::Geometry geometry = policy.config.geometry;
    const auto keys = m_cache.get<policy::KeyMeasurement>(
        fmt::format("keys {} {} {} {}", layer, range.first, range.count,
                    static_cast<int>(geometry)),
        [&] {
            const SourceLayer source = m_source.layer(layer, false);
            const auto sums = keySums(source.input, range.first, geometry);
            return policy::measureKeys(source.input, range, geometry, sums->sums);
        },
        [](const policy::KeyMeasurement& part) { return part.bytes(); });
    const auto values = m_cache.get<policy::ValueMeasurement>(
        fmt::format("values {}", layer),
        [&] {
            return policy::measureValues(m_source.layer(layer, true).input, kernels::Backend::Cpu);
        },
        [](const policy::ValueMeasurement& part) { return part.bytes(); });
    return {keys, window(layer, policy.window), values};
}

std::shared_ptr<const policy::LayerScores>
ReplayMeasurements::scores(std::int64_t layer, const policy::ResolvedPolicy& policy,
                           bool tokenScores) {
    return m_cache.get<policy::LayerScores>(
        fmt::format("scores {} {} {}", layer, tokenScores, scoreKey(policy)),
        [&] {
            const policy::Measurement measured(parts(layer, policy), policy);
            policy::LayerScores scores = policy::scoreLayer(measured, policy);
            if (!tokenScores) {
                dropTokenScores(scores);
            }
            return std::make_shared<const policy::LayerScores>(std::move(scores));
        },
        bytesOf);
}

} // namespace ecokv::analysis
