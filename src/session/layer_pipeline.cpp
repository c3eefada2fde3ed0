// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/layer_pipeline.h"

#include "base/stop_watch.h"
#include "policy/retention.h"
#include "session/layer_gaps.h"
#include "session/layer_input.h"
#include "session/trace_records.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ecokv::session {

cache::LayerPlan keepEverything(LayerId layer, std::int32_t kvHeads, std::int64_t tokens) {
    std::vector<std::int32_t> rows(static_cast<std::size_t>(tokens));
    std::iota(rows.begin(), rows.end(), 0);
    return {layer, std::vector<std::vector<std::int32_t>>(static_cast<std::size_t>(kvHeads), rows),
            false};
}

LayerPipeline::LayerPipeline(PipelineSetup setup)
    : m_setup(std::move(setup)),
      m_geometry(m_setup.policy, m_setup.tokenKinds, m_setup.recordGeometry) {
    m_record.attributes = policyAttributes(m_setup.policy);
}

std::int64_t LayerPipeline::windowRows(LayerId layer) const {
    const std::int64_t recorded = m_setup.trace != nullptr ? m_setup.recordWindow : 0;
    const std::int64_t remembered =
        m_setup.windows != nullptr ? m_setup.windows->at(layer.index()).limit() : 0;
    return std::max(
        {std::int64_t{m_setup.policy.window}, m_setup.policy.judgedRows(), recorded, remembered});
}

bool LayerPipeline::scoringNeeded() const {
    return m_setup.trace != nullptr || m_setup.policy.compresses;
}

void LayerPipeline::layerPrefilled(const model::LayerTensors& tensors) {
    m_setup.cancel.throwIfCancelled("The prefill");
    const auto kvHeads = static_cast<std::int32_t>(tensors.keys.shape[0]);
    const std::int64_t tokens = tensors.keys.shape[1];
    auto plan = keepEverything(tensors.layer, kvHeads, tokens);
    m_kvHeads = kvHeads;
    if (m_setup.windows != nullptr) {
        m_setup.windows->at(tensors.layer.index())
            .append(tensors.windowQueries, tensors.windowPositions);
    }
    if (scoringNeeded()) {
        const StopWatch watch;
        const PrefilledLayer layer(tensors, m_setup.ropes);
        const policy::LayerScores scores =
            policy::scoreLayer(layer.input(), m_setup.policy, m_setup.backend);
        if (m_setup.policy.compresses) {
            plan = policy::planLayer(scores, m_setup.policy);
        }
        m_scoringSeconds += watch.seconds();
        m_notes.insert(m_notes.end(), scores.notes.begin(), scores.notes.end());
        if (m_setup.trace != nullptr) {
            measureAndRecord(HostLayer(layer.input()).input(), scores, plan);
        }
    }
    passLinearLayers(tensors.layer.value, kvHeads);
    remember(plan);
    if (m_setup.full != nullptr) {
        m_setup.full->copyLayer(*m_setup.cache, tensors.layer);
    }
    if (plan.compressed) {
        m_setup.cache->apply(plan);
    }
}

/// They keep no token.
void LayerPipeline::passLinearLayers(std::int32_t layer, std::int32_t kvHeads) {
    const auto heads = static_cast<std::size_t>(layer) * static_cast<std::size_t>(kvHeads);
    if (m_record.budgetPerHead.size() < heads) {
        m_record.budgetPerHead.resize(heads, 0);
        m_record.kept.resize(heads * static_cast<std::size_t>(m_setup.policy.tokens), 0);
    }
}

void LayerPipeline::remember(const cache::LayerPlan& plan) {
    const auto tokens = static_cast<std::size_t>(m_setup.policy.tokens);
    for (const auto& rows : plan.keptRows) {
        const std::size_t begin = m_record.kept.size();
        m_record.kept.resize(begin + tokens, 0);
        for (const std::int32_t row : rows) {
            m_record.kept[begin + static_cast<std::size_t>(row)] = 1;
        }
        m_record.budgetPerHead.push_back(static_cast<std::int32_t>(rows.size()));
    }
}

void LayerPipeline::measureAndRecord(const policy::LayerInput& input,
                                     const policy::LayerScores& scores,
                                     const cache::LayerPlan& plan) {
    const auto kvHeads = static_cast<std::int32_t>(plan.keptRows.size());
    fillGaps(m_record.outputError, plan.layer.value, kvHeads);
    fillGaps(m_record.retainedMass, plan.layer.value, kvHeads);
    const auto retention = policy::measureRetention(input, plan, m_setup.policy.judgedRows());
    m_record.outputError.insert(m_record.outputError.end(), retention.outputError.begin(),
                                retention.outputError.end());
    m_record.retainedMass.insert(m_record.retainedMass.end(), retention.retainedMass.begin(),
                                 retention.retainedMass.end());
    trace::LayerRecord record =
        layerRecord(input, scores, m_setup.recordWindow, m_setup.recordValues);
    m_geometry.add(input, record);
    m_setup.trace->writeLayer(record);
}

trace::PolicyRecord LayerPipeline::policyRecord(const std::string& id) const {
    trace::PolicyRecord record = m_record;
    record.id = id;
    const policy::ModelShape& shape = m_setup.policy.shape;
    if (shape.layers > 0 && m_kvHeads > 0) { // linear layers behind the last one that was delivered
        const auto heads =
            static_cast<std::size_t>(shape.layers) * static_cast<std::size_t>(m_kvHeads);
        record.budgetPerHead.resize(heads, 0);
        record.kept.resize(heads * static_cast<std::size_t>(m_setup.policy.tokens), 0);
        for (auto* values : {&record.outputError, &record.retainedMass}) {
            fillGaps(*values, values->empty() ? 0 : shape.layers, m_kvHeads);
        }
    }
    return record;
}

} // namespace ecokv::session
