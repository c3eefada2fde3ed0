// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/layer_pipeline.h"

#include "kernels/device_memory.h"
#include "policy/retention.h"
#include "session/trace_records.h"

#include <chrono>
#include <numeric>
#include <utility>

namespace ecokv::session {

namespace {

/// Tensors of one layer in host memory: views of the model's where they already are.
struct HostLayer {
    explicit HostLayer(const model::LayerTensors& tensors)
        : keys(tensors.keys), values(tensors.values), windowQueries(tensors.windowQueries) {
        moveToHost(keys, m_buffers[0]);
        moveToHost(values, m_buffers[1]);
        moveToHost(windowQueries, m_buffers[2]);
    }

    TensorView keys, values, windowQueries;

private:
    static void moveToHost(TensorView& view, kernels::DeviceBuffer& buffer) {
        if (view.device.kind == DeviceKind::Cpu) {
            return;
        }
        const auto bytes = static_cast<std::size_t>(view.numel()) * dtypeSize(view.dtype);
        buffer = kernels::DeviceBuffer(bytes, Device{});
        kernels::copyToContiguous(view, buffer.data(), Device{});
        view = TensorView::contiguous(buffer.data(), view.dtype,
                                      {view.shape[0], view.shape[1], view.shape[2]});
    }

    kernels::DeviceBuffer m_buffers[3];
};

double secondsSince(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

cache::LayerPlan keepEverything(LayerId layer, std::int32_t kvHeads, std::int64_t tokens) {
    std::vector<std::int32_t> rows(static_cast<std::size_t>(tokens));
    std::iota(rows.begin(), rows.end(), 0);
    return {layer, std::vector<std::vector<std::int32_t>>(static_cast<std::size_t>(kvHeads), rows),
            false};
}

LayerPipeline::LayerPipeline(PipelineSetup setup) : m_setup(std::move(setup)) {
    m_record.attributes = policyAttributes(m_setup.policy);
}

std::int64_t LayerPipeline::windowRows(LayerId) const {
    return std::max<std::int64_t>(m_setup.policy.window,
                                  m_setup.trace != nullptr ? m_setup.recordWindow : 0);
}

bool LayerPipeline::scoringNeeded() const {
    return m_setup.trace != nullptr || m_setup.policy.compresses;
}

policy::LayerScores LayerPipeline::score(const policy::LayerInput& input) {
    policy::LayerInput rotated = input;
    const kernels::Rotation rotation{m_setup.rope.style, m_setup.rope.inverseFrequencies.data(),
                                     input.positions.data(), 1.0F};
    rotated.rotation = m_setup.rope.inverseFrequencies.empty() ? nullptr : &rotation;
    return policy::scoreLayer(rotated, m_setup.policy, m_setup.backend);
}

void LayerPipeline::layerPrefilled(const model::LayerTensors& tensors) {
    m_setup.cancel.throwIfCancelled("The prefill");
    const auto kvHeads = static_cast<std::int32_t>(tensors.keys.shape[0]);
    const std::int64_t tokens = tensors.keys.shape[1];
    auto plan = keepEverything(tensors.layer, kvHeads, tokens);
    if (scoringNeeded()) {
        const auto start = std::chrono::steady_clock::now();
        const policy::LayerInput input{tensors.layer,
                                       tensors.keys,
                                       tensors.values,
                                       tensors.windowQueries,
                                       tensors.positions,
                                       tensors.windowPositions,
                                       nullptr};
        const policy::LayerScores scores = score(input);
        if (m_setup.policy.compresses) {
            plan = policy::planLayer(scores, m_setup.policy);
        }
        m_scoringSeconds += secondsSince(start);
        m_notes.insert(m_notes.end(), scores.notes.begin(), scores.notes.end());
        if (m_setup.trace != nullptr) {
            const HostLayer host(tensors);
            policy::LayerInput onHost = input;
            onHost.keys = host.keys;
            onHost.values = host.values;
            onHost.windowQueries = host.windowQueries;
            measureAndRecord(onHost, scores, plan);
        }
    }
    remember(plan);
    if (m_setup.full != nullptr) {
        m_setup.full->copyLayer(*m_setup.cache, tensors.layer);
    }
    if (plan.compressed) {
        m_setup.cache->apply(plan);
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
    const auto retention = policy::measureRetention(input, plan, m_setup.policy.window);
    m_record.outputError.insert(m_record.outputError.end(), retention.outputError.begin(),
                                retention.outputError.end());
    m_record.retainedMass.insert(m_record.retainedMass.end(), retention.retainedMass.begin(),
                                 retention.retainedMass.end());
    m_setup.trace->writeLayer(
        layerRecord(input, scores, m_setup.recordWindow, m_setup.recordValues));
}

trace::PolicyRecord LayerPipeline::policyRecord(const std::string& id) const {
    trace::PolicyRecord record = m_record;
    record.id = id;
    return record;
}

} // namespace ecokv::session
