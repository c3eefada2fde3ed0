// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/replay.h"

#include "analysis/finite_layers.h"
#include "analysis/missing_scores.h"
#include "analysis/parallel_layers.h"
#include "analysis/replay_measurements.h"
#include "base/error.h"
#include "policy/geometry_metrics.h"
#include "policy/retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

namespace ecokv::analysis {

namespace {

constexpr const char* kWhat = "The replay";
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

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

/// Of the candidates' keys [kvHead], as a run records it.
std::vector<float> participationOf(const policy::LayerInput& input,
                                   const policy::ResolvedPolicy& policy) {
    const policy::GeometryMeter meter(
        {.tokens = policy.tokens, .dim = input.keys.shape[2], .candidates = policy.candidates()});
    const auto geometry = meter.measure(input.layer, input.keys, policy::Spectra::None);
    return policy::geometryMetrics(geometry).at("participation_ratio");
}

} // namespace

class Replayer::Impl {
public:
    Impl(std::shared_ptr<const trace::TraceReader> reader, const ReplayOptions& options)
        : m_measured(std::move(reader), options.cacheBytes) {}

    const trace::TraceReader& reader() const { return m_measured.source().reader(); }

    ReplayResult replay(const ReplayRequest& request, const ProgressSink& progress,
                        const CancellationToken& cancel);

    std::vector<std::vector<float>> outputErrors(const std::vector<SurvivorPlans>& plans,
                                                 const ProgressSink& progress,
                                                 const CancellationToken& cancel);

    ReplayStatistics statistics() { return m_measured.statistics(); }

private:
    using Scores = std::shared_ptr<const policy::LayerScores>;

    /// What one layer contributes to a result.
    struct LayerResult {
        Scores scores;
        cache::LayerPlan plan;
        std::vector<float> mass, error, participation;
        bool isDamaged = false;
    };

    /// By the policy and the rows of `wanted`.
    LayerResult replayLayer(std::int64_t layer, const ReplayResult& wanted,
                            const ReplayRequest& request);
    /// Of a damaged layer: zeros in place of what is not finite would look perfect.
    static void forgetNumbers(LayerResult& layer);
    /// Of a linear layer: no survivors, every number NaN.
    LayerResult withoutCache(std::int64_t layer, const ReplayRequest& request) const;
    /// Of one layer [plan][kvHead].
    std::vector<std::vector<float>> errorsOf(std::int64_t layer,
                                             const std::vector<policy::MeasuredPlan>& plans);
    void checkHasValues() const;
    void assemble(std::vector<LayerResult> layers, ReplayResult& result);

    std::mutex m_turn;
    ReplayMeasurements m_measured;
};

Replayer::Impl::LayerResult Replayer::Impl::replayLayer(std::int64_t layer,
                                                        const ReplayResult& wanted,
                                                        const ReplayRequest& request) {
    const policy::ResolvedPolicy& policy = wanted.policy;
    const std::int64_t rows = wanted.rows;
    LayerResult result;
    if (policy.shape.isLinear(static_cast<std::int32_t>(layer))) {
        return withoutCache(layer, request);
    }
    result.scores = m_measured.scores(layer, policy, request.tokenScores);
    result.plan = policy::planLayer(*result.scores, policy);
    const auto window = m_measured.window(layer, rows);
    result.mass = massOf(result.plan, *window, policy.tokens);
    if (request.outputError) {
        const policy::MeasuredPlan measured{&result.plan, rows};
        result.error = errorsOf(layer, {measured}).front();
    }
    if (request.participation) {
        const SourceLayer source = m_measured.source().layer(layer, false);
        result.participation = participationOf(source.input, policy);
    }
    result.isDamaged = result.scores->isDamaged || !window->notes.empty();
    if (result.isDamaged) {
        forgetNumbers(result);
    }
    return result;
}

void Replayer::Impl::forgetNumbers(LayerResult& layer) {
    policy::LayerScores scores = *layer.scores;
    blankHeads(scores);
    for (auto* values : {&layer.mass, &layer.error, &layer.participation}) {
        std::ranges::fill(*values, kNone);
    }
    layer.scores = std::make_shared<const policy::LayerScores>(std::move(scores));
}

Replayer::Impl::LayerResult Replayer::Impl::withoutCache(std::int64_t layer,
                                                         const ReplayRequest& request) const {
    const trace::Dimensions& d = m_measured.source().dimensions();
    const auto heads = static_cast<std::size_t>(d.kvHeads);
    const LayerId id{static_cast<std::int32_t>(layer)};
    LayerResult result;
    result.plan = {id, std::vector<std::vector<std::int32_t>>(heads), false};
    result.mass.assign(heads, kNone);
    result.error.assign(request.outputError ? heads : 0, kNone);
    result.participation.assign(request.participation ? heads : 0, kNone);
    result.scores =
        std::make_shared<const policy::LayerScores>(missingScores(id, d, request.tokenScores));
    return result;
}

void Replayer::Impl::checkHasValues() const {
    if (!m_measured.source().hasValues()) {
        throwUsage(fmt::format("The output error needs values, and {} has no /tensors/values.",
                               reader().path().string()),
                   "Record values, or leave the output error out.");
    }
}

std::vector<std::vector<float>>
Replayer::Impl::errorsOf(std::int64_t layer, const std::vector<policy::MeasuredPlan>& plans) {
    const SourceLayer source = m_measured.source().layer(layer, true);
    std::vector<std::vector<float>> errors;
    for (policy::Retention& retention : policy::measureRetentions(source.input, plans)) {
        errors.push_back(std::move(retention.outputError));
    }
    return errors;
}

std::vector<std::vector<float>>
Replayer::Impl::outputErrors(const std::vector<SurvivorPlans>& plans, const ProgressSink& progress,
                             const CancellationToken& cancel) {
    const std::lock_guard turn(m_turn);
    checkHasValues();
    m_measured.beginPass();
    const trace::Dimensions& d = m_measured.source().dimensions();
    const auto heads = static_cast<std::size_t>(d.kvHeads);
    std::vector<std::vector<float>> errors(
        plans.size(), std::vector<float>(static_cast<std::size_t>(d.layers) * heads));
    LayerProgress report("Output errors", d.layers, progress);
    forEachLayer(d.layers, cancel, kWhat, [&](std::int64_t layer) {
        const auto at = static_cast<std::size_t>(layer);
        if (m_measured.source().shape().isLinear(static_cast<std::int32_t>(layer))) {
            for (auto& ofPlan : errors) {
                std::fill_n(ofPlan.begin() + static_cast<std::ptrdiff_t>(at * heads), heads, kNone);
            }
            report.layerDone();
            return;
        }
        std::vector<policy::MeasuredPlan> measured;
        for (const SurvivorPlans& plan : plans) {
            measured.push_back({&plan.layers.at(at), plan.rows});
        }
        const auto ofLayer = errorsOf(layer, measured);
        for (std::size_t i = 0; i < plans.size(); ++i) {
            std::copy(ofLayer[i].begin(), ofLayer[i].end(),
                      errors[i].begin() + static_cast<std::ptrdiff_t>(at * heads));
        }
        report.layerDone();
    });
    return errors;
}

ReplayResult Replayer::Impl::replay(const ReplayRequest& request, const ProgressSink& progress,
                                    const CancellationToken& cancel) {
    const std::lock_guard turn(m_turn);
    const trace::Dimensions& d = m_measured.source().dimensions();
    ReplayResult result;
    result.policy = policy::resolve(request.policy, d.tokens, m_measured.source().shape());
    m_measured.source().checkCanReplay(result.policy);
    m_measured.source().checkRows(request.measureRows);
    result.rows = request.measureRows > 0 ? request.measureRows
                                          : std::min(result.policy.judgedRows(), d.window);
    if (request.outputError) {
        checkHasValues();
    }
    m_measured.beginPass();
    std::vector<LayerResult> layers(static_cast<std::size_t>(d.layers));
    LayerProgress report("Replaying", d.layers, progress);
    forEachLayer(d.layers, cancel, kWhat, [&](std::int64_t layer) {
        layers[static_cast<std::size_t>(layer)] = replayLayer(layer, result, request);
        report.layerDone();
    });
    assemble(std::move(layers), result);
    return result;
}

void Replayer::Impl::assemble(std::vector<LayerResult> layers, ReplayResult& result) {
    const auto append = [](std::vector<float>& all, const std::vector<float>& part) {
        all.insert(all.end(), part.begin(), part.end());
    };
    result.storedDType = m_measured.source().dtype();
    result.headDim = m_measured.source().dimensions().headDim;
    if (!result.policy.note.empty()) {
        result.notes.push_back(result.policy.note);
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
        if (layers[i].isDamaged) {
            result.notFinite.push_back(static_cast<std::int64_t>(i));
        }
    }
    if (!result.notFinite.empty()) {
        result.notes.push_back(notFiniteNote(result.notFinite));
    }
    for (LayerResult& layer : layers) {
        for (const auto& rows : layer.plan.keptRows) {
            result.budgetPerHead.push_back(static_cast<std::int32_t>(rows.size()));
        }
        append(result.retainedMass, layer.mass);
        append(result.outputError, layer.error);
        append(result.participationRatio, layer.participation);
        result.notes.insert(result.notes.end(), layer.scores->notes.begin(),
                            layer.scores->notes.end());
        result.plans.push_back(std::move(layer.plan));
        result.layers.push_back(std::move(layer.scores));
    }
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

std::vector<std::vector<float>> Replayer::outputErrors(const std::vector<SurvivorPlans>& plans,
                                                       const ProgressSink& progress,
                                                       const CancellationToken& cancel) {
    return m_impl->outputErrors(plans, progress, cancel);
}

ReplayStatistics Replayer::statistics() const {
    return m_impl->statistics();
}

policy::PolicyConfig recordedPolicy(const trace::Attributes& attributes) {
    return policy::configOf(attributes);
}

} // namespace ecokv::analysis
