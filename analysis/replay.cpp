// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/replay.h"

#include "analysis/parallel_layers.h"
#include "analysis/replay_cache.h"
#include "analysis/replay_source.h"
#include "base/error.h"
#include "policy/measurement.h"
#include "policy/policy.h"
#include "policy/policy_settings.h"
#include "policy/retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace ecokv::analysis {

namespace {

constexpr const char* kWhat = "The replay";
/// Of the cache; the rest is for measurements, which cost more per byte to make again.
constexpr double kTensorShare = 0.5;

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

/// Share of the window's attention that survivors hold, per head: A is a mean over rows of softmax,
/// so its sum over the survivors is that share.
std::vector<float> massOf(const cache::LayerPlan& plan, const policy::WindowMeasurement& window,
                          std::int64_t tokens) {
    const auto* attention = static_cast<const float*>(window.attention.data());
    std::vector<float> mass;
    for (std::size_t head = 0; head < plan.keptRows.size(); ++head) {
        const float* row = attention + static_cast<std::int64_t>(head) * tokens;
        double kept = 0;
        for (const std::int32_t token : plan.keptRows[head]) {
            kept += static_cast<double>(row[token]);
        }
        mass.push_back(static_cast<float>(std::min(kept, 1.0)));
    }
    return mass;
}

} // namespace

class Replayer::Impl {
public:
    Impl(std::shared_ptr<const trace::TraceReader> reader, const ReplayOptions& options)
        : m_source(std::move(reader), static_cast<std::size_t>(
                                          static_cast<double>(options.cacheBytes) * kTensorShare)),
          m_cache(options.cacheBytes - m_source.cache().limit()) {}

    const trace::TraceReader& reader() const { return m_source.reader(); }

    ReplayResult replay(const ReplayRequest& request, const ProgressSink& progress,
                        const CancellationToken& cancel);

    ReplayStatistics statistics() {
        return {m_source.cache().bytes(), m_cache.bytes(), m_cache.hits(), m_cache.misses()};
    }

private:
    using Scores = std::shared_ptr<const policy::LayerScores>;

    /// What one layer contributes to a result.
    struct LayerResult {
        Scores scores;
        cache::LayerPlan plan;
        std::vector<float> mass, error;
    };

    LayerResult replayLayer(std::int64_t layer, const policy::ResolvedPolicy& policy,
                            const ReplayRequest& request);
    Scores scoresOf(std::int64_t layer, const policy::ResolvedPolicy& policy, bool tokenScores);
    policy::MeasuredParts partsOf(std::int64_t layer, const policy::ResolvedPolicy& policy);
    std::shared_ptr<const policy::WindowMeasurement> windowOf(std::int64_t layer,
                                                              std::int64_t window);

    std::mutex m_turn;
    ReplaySource m_source;
    ReplayCache m_cache;
};

std::shared_ptr<const policy::WindowMeasurement> Replayer::Impl::windowOf(std::int64_t layer,
                                                                          std::int64_t window) {
    using Window = policy::WindowMeasurement;
    return m_cache.get<Window>(
        fmt::format("window {} {}", layer, window),
        [&] {
            return policy::measureWindow(m_source.layer(layer, false).input, window,
                                         kernels::Backend::Cpu);
        },
        [](const Window& part) { return part.bytes(); });
}

policy::MeasuredParts Replayer::Impl::partsOf(std::int64_t layer,
                                              const policy::ResolvedPolicy& policy) {
    const policy::TokenRange range = policy.candidates();
    const policy::Geometry geometry = policy.config.geometry;
    const auto keys = m_cache.get<policy::KeyMeasurement>(
        fmt::format("keys {} {} {} {}", layer, range.first, range.count,
                    static_cast<int>(geometry)),
        [&] {
            return policy::measureKeys(m_source.layer(layer, false).input, range, geometry,
                                       kernels::Backend::Cpu);
        },
        [](const policy::KeyMeasurement& part) { return part.bytes(); });
    const auto values = m_cache.get<policy::ValueMeasurement>(
        fmt::format("values {}", layer),
        [&] {
            return policy::measureValues(m_source.layer(layer, true).input, kernels::Backend::Cpu);
        },
        [](const policy::ValueMeasurement& part) { return part.bytes(); });
    return {keys, windowOf(layer, policy.window), values};
}

Replayer::Impl::Scores Replayer::Impl::scoresOf(std::int64_t layer,
                                                const policy::ResolvedPolicy& policy,
                                                bool tokenScores) {
    return m_cache.get<policy::LayerScores>(
        fmt::format("scores {} {} {}", layer, tokenScores, scoreKey(policy)),
        [&] {
            const policy::Measurement measured(partsOf(layer, policy), policy);
            policy::LayerScores scores = policy::scoreLayer(measured, policy);
            if (!tokenScores) {
                dropTokenScores(scores);
            }
            return std::make_shared<const policy::LayerScores>(std::move(scores));
        },
        bytesOf);
}

Replayer::Impl::LayerResult Replayer::Impl::replayLayer(std::int64_t layer,
                                                        const policy::ResolvedPolicy& policy,
                                                        const ReplayRequest& request) {
    LayerResult result;
    result.scores = scoresOf(layer, policy, request.tokenScores);
    result.plan = policy::planLayer(*result.scores, policy);
    const std::int64_t rows = std::min(policy.judgedRows(), m_source.dimensions().window);
    result.mass = massOf(result.plan, *windowOf(layer, rows), policy.tokens);
    if (request.outputError) {
        const SourceLayer source = m_source.layer(layer, true);
        result.error = policy::measureRetention(source.input, result.plan, rows).outputError;
    }
    return result;
}

ReplayResult Replayer::Impl::replay(const ReplayRequest& request, const ProgressSink& progress,
                                    const CancellationToken& cancel) {
    const std::lock_guard turn(m_turn);
    const trace::Dimensions& d = m_source.dimensions();
    ReplayResult result;
    result.policy = policy::resolve(request.policy, d.tokens, m_source.shape());
    m_source.checkCanReplay(result.policy);
    if (request.outputError && !m_source.hasValues()) {
        throwUsage(fmt::format("The output error needs values, and {} has no /tensors/values.",
                               reader().path().string()),
                   "Record values, or leave the output error out.");
    }
    m_cache.beginPass();
    m_source.cache().beginPass();
    std::vector<LayerResult> layers(static_cast<std::size_t>(d.layers));
    std::int64_t done = 0;
    std::mutex reporting;
    forEachLayer(d.layers, cancel, kWhat, [&](std::int64_t layer) {
        layers[static_cast<std::size_t>(layer)] = replayLayer(layer, result.policy, request);
        const std::lock_guard lock(reporting);
        ++done;
        if (progress) {
            progress({"Replaying", done, d.layers, "layers"});
        }
    });
    if (!result.policy.note.empty()) {
        result.notes.push_back(result.policy.note);
    }
    for (LayerResult& layer : layers) {
        for (const auto& rows : layer.plan.keptRows) {
            result.budgetPerHead.push_back(static_cast<std::int32_t>(rows.size()));
        }
        result.retainedMass.insert(result.retainedMass.end(), layer.mass.begin(), layer.mass.end());
        result.outputError.insert(result.outputError.end(), layer.error.begin(), layer.error.end());
        result.notes.insert(result.notes.end(), layer.scores->notes.begin(),
                            layer.scores->notes.end());
        result.plans.push_back(std::move(layer.plan));
        result.layers.push_back(std::move(layer.scores));
    }
    return result;
}

Replayer::Replayer(std::shared_ptr<const trace::TraceReader> reader, const ReplayOptions& options)
    : m_impl(std::make_unique<Impl>(std::move(reader), options)) {}

Replayer::~Replayer() = default;

const trace::TraceReader& Replayer::reader() const {
    return m_impl->reader();
}

ReplayResult Replayer::replay(const ReplayRequest& request, const ProgressSink& progress,
                              const CancellationToken& cancel) {
    return m_impl->replay(request, progress, cancel);
}

ReplayStatistics Replayer::statistics() const {
    return m_impl->statistics();
}

std::vector<std::uint8_t> ReplayResult::kept() const {
    const auto tokens = static_cast<std::size_t>(policy.tokens);
    std::vector<std::uint8_t> mask(budgetPerHead.size() * tokens, 0);
    std::size_t begin = 0;
    for (const cache::LayerPlan& plan : plans) {
        for (const auto& rows : plan.keptRows) {
            for (const std::int32_t row : rows) {
                mask[begin + static_cast<std::size_t>(row)] = 1;
            }
            begin += tokens;
        }
    }
    return mask;
}

policy::PolicyConfig recordedPolicy(const trace::Attributes& attributes) {
    return policy::configOf(attributes);
}

} // namespace ecokv::analysis
