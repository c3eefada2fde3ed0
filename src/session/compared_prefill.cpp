// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/compared_prefill.h"

#include "base/stop_watch.h"
#include "policy/measurement.h"
#include "policy/retention.h"
#include "session/layer_gaps.h"
#include "session/layer_input.h"
#include "session/trace_records.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

namespace ecokv::session {

namespace {

/// The parts measured on one layer, each once however many policies read it.
class SharedParts {
public:
    SharedParts(const policy::LayerInput& input, kernels::Backend backend)
        : m_input(input), m_backend(backend) {}

    policy::MeasuredParts partsFor(const policy::ResolvedPolicy& policy) {
        const policy::TokenRange range = policy.candidates();
        const KeysOf keysOf{range.first, range.count, policy.config.geometry};
        auto& keys = m_keys[keysOf];
        if (keys == nullptr) {
            keys = policy::measureKeys(m_input, range, policy.config.geometry, m_backend);
        }
        auto& window = m_windows[policy.window];
        if (window == nullptr) {
            window = policy::measureWindow(m_input, policy.window, m_backend);
        }
        if (m_values == nullptr) {
            m_values = policy::measureValues(m_input, m_backend);
        }
        return {keys, window, m_values};
    }

private:
    using KeysOf = std::tuple<std::int64_t, std::int64_t, policy::Geometry>;

    const policy::LayerInput& m_input;
    kernels::Backend m_backend;
    std::map<KeysOf, std::shared_ptr<const policy::KeyMeasurement>> m_keys;
    std::map<int, std::shared_ptr<const policy::WindowMeasurement>> m_windows;
    std::shared_ptr<const policy::ValueMeasurement> m_values;
};

} // namespace

ComparedPrefill::ComparedPrefill(ComparedPrefillSetup setup)
    : m_setup(std::move(setup)), m_recorded(recordedVariant(*m_setup.variants)),
      m_geometry((*m_setup.variants)[m_recorded].policy, m_setup.tokenKinds,
                 m_setup.recordGeometry) {}

std::int64_t ComparedPrefill::windowRows(LayerId) const {
    std::int64_t rows = m_setup.trace != nullptr ? m_setup.recordWindow : 0;
    for (const Variant& variant : *m_setup.variants) {
        if (variant.measured()) {
            rows =
                std::max({rows, std::int64_t{variant.policy.window}, variant.policy.judgedRows()});
        }
    }
    return rows;
}

void ComparedPrefill::layerPrefilled(const model::LayerTensors& tensors) {
    const PrefilledLayer layer(tensors, m_setup.ropes);
    const HostLayer onHost(layer.input());
    SharedParts shared(layer.input(), m_setup.backend);
    for (std::size_t i = 0; i < m_setup.variants->size(); ++i) {
        m_setup.cancel.throwIfCancelled("The prefill");
        Variant& variant = (*m_setup.variants)[i];
        const bool recorded = i == m_recorded && m_setup.trace != nullptr;
        if (!variant.measured() || !(variant.policy.compresses || recorded)) {
            continue;
        }
        const StopWatch watch;
        const policy::LayerScores scores = policy::scoreLayer(
            policy::Measurement(shared.partsFor(variant.policy), variant.policy), variant.policy);
        if (variant.policy.compresses) {
            keep(variant, scores);
        }
        m_scoringSeconds += watch.seconds();
        collect(scores.notes);
        if (recorded) {
            record(onHost.input(), scores);
        }
    }
    predictErrors(onHost.input());
}

void ComparedPrefill::keep(Variant& variant, const policy::LayerScores& scores) {
    fillGaps(variant.plans, scores.layer.value, scores.kvHeads);
    variant.plans.push_back(policy::planLayer(scores, variant.policy));
    variant.cache->copyLayer(*m_setup.full, scores.layer);
    variant.cache->apply(variant.plans.back());
}

void ComparedPrefill::record(const policy::LayerInput& onHost, const policy::LayerScores& scores) {
    trace::LayerRecord record =
        layerRecord(onHost, scores, m_setup.recordWindow, m_setup.recordValues);
    m_geometry.add(onHost, record);
    m_setup.trace->writeLayer(record);
}

void ComparedPrefill::predictErrors(const policy::LayerInput& onHost) {
    std::vector<Variant*> compressed;
    std::vector<policy::MeasuredPlan> plans;
    for (Variant& variant : *m_setup.variants) {
        if (variant.cache != nullptr) {
            compressed.push_back(&variant);
            plans.push_back({&variant.plans.back(), variant.policy.judgedRows()});
        }
    }
    const auto retentions = policy::measureRetentions(onHost, plans);
    for (std::size_t i = 0; i < compressed.size(); ++i) {
        const policy::Retention& measured = retentions[i];
        Variant& variant = *compressed[i];
        const auto kvHeads = static_cast<std::int32_t>(measured.outputError.size());
        fillGaps(variant.predictedError, onHost.layer.value, kvHeads);
        fillGaps(variant.retainedMass, onHost.layer.value, kvHeads);
        variant.predictedError.insert(variant.predictedError.end(), measured.outputError.begin(),
                                      measured.outputError.end());
        variant.retainedMass.insert(variant.retainedMass.end(), measured.retainedMass.begin(),
                                    measured.retainedMass.end());
    }
}

void ComparedPrefill::collect(const std::vector<std::string>& notes) {
    for (const std::string& note : notes) {
        if (m_told.insert(note).second) {
            m_notes.push_back(note);
        }
    }
}

} // namespace ecokv::session
