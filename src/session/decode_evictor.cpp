// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/decode_evictor.h"

#include "base/error.h"
#include "policy/scorer.h"
#include "session/key_rotation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ecokv::session {

namespace {

/// Longer than any cache, so that nothing is "not compressed" because it is short.
constexpr std::int64_t kAnyLength = std::int64_t{1} << 40;
/// An odd number with well mixed bits: each eviction of `random` draws anew.
constexpr std::uint64_t kStepSeed = 0x9E3779B97F4A7C15ULL;

TensorView oneHead(const TensorView& rows) {
    TensorView view = rows;
    view.rank = 3;
    view.shape = {1, rows.shape[0], rows.shape[1]};
    view.strides = {rows.shape[0] * rows.strides[0], rows.strides[0], rows.strides[1]};
    return view;
}

bool holdTheSame(const cache::KvCache& cache, LayerId layer) {
    const auto first = cache.positions(layer, HeadId{0});
    for (std::int32_t head = 1; head < cache.shape().kvHeads; ++head) {
        if (!std::ranges::equal(first, cache.positions(layer, HeadId{head}))) {
            return false;
        }
    }
    return true;
}

void listEvictions(const cache::KvCache& cache, const cache::LayerPlan& plan, std::int64_t step,
                   std::vector<Eviction>& evictions) {
    for (std::size_t head = 0; head < plan.keptRows.size(); ++head) {
        const HeadId id{static_cast<std::int32_t>(head)};
        const auto positions = cache.positions(plan.layer, id);
        auto kept = plan.keptRows[head].begin();
        for (std::size_t row = 0; row < positions.size(); ++row) {
            if (kept != plan.keptRows[head].end() && *kept == static_cast<std::int32_t>(row)) {
                ++kept;
            } else {
                evictions.push_back({step, plan.layer.value, id.value, positions[row]});
            }
        }
    }
}

} // namespace

DecodeEvictionSetup decodeSetup(const RunConfig& config) {
    DecodeEvictionSetup setup;
    setup.policy = config.policy;
    setup.policy.budget = config.decodeBudget;
    setup.policy.ratio.reset(); // a share of the prompt
    setup.every = config.decodeEvery;
    return setup;
}

policy::ResolvedPolicy resolveDecode(const DecodeEvictionSetup& setup) {
    const policy::Scorer& scorer = policy::findScorer(setup.policy.scorer);
    if (scorer.keepsAll) {
        throwUsage(fmt::format("The policy {} keeps everything, so no decode budget can be held.",
                               scorer.info.name),
                   "Choose another policy, or leave --decode-budget out.");
    }
    if (!scorer.info.runsAtDecode()) {
        throwUsage(fmt::format("The policy {} sums the attention of every row there ever was; the "
                               "rows are gone when an answer is generated, so it cannot evict "
                               "there.",
                               scorer.info.name),
                   "Use a policy that looks at the last rows, such as snapkv or ecokv, or leave "
                   "--decode-budget out.");
    }
    if (setup.every < 1) {
        throwUsage(fmt::format("An eviction every {} tokens was asked for.", setup.every),
                   "Give --decode-every at least 1.");
    }
    policy::ResolvedPolicy policy = policy::resolve(setup.policy, kAnyLength, setup.shape);
    if (policy.recent == 0) { // the new token always stays
        policy::PolicyConfig config = setup.policy;
        config.window = policy.window;
        config.recent = 1;
        policy = policy::resolve(config, kAnyLength, setup.shape);
    }
    return policy;
}

DecodeEvictor::DecodeEvictor(DecodeEvictionSetup setup)
    : m_setup(std::move(setup)), m_policy(resolveDecode(m_setup)) {
    m_windows.reserve(static_cast<std::size_t>(m_setup.shape.layers));
    for (std::int32_t layer = 0; layer < m_setup.shape.layers; ++layer) {
        m_windows.emplace_back(m_policy.window);
    }
}

void DecodeEvictor::seed(const QueryWindows& windows) {
    for (std::size_t layer = 0; layer < std::min(windows.size(), m_windows.size()); ++layer) {
        m_windows[layer] = windows[layer].copy(m_policy.window);
    }
}

std::int64_t DecodeEvictor::windowRows(LayerId) const {
    return m_policy.window;
}

void DecodeEvictor::layerPrefilled(const model::LayerTensors& tensors) {
    m_windows.at(tensors.layer.index()).append(tensors.windowQueries, tensors.windowPositions);
}

/// Rows a head may hold before the new token comes.
std::int64_t DecodeEvictor::target(LayerId layer, std::int32_t kvHead) const {
    return m_policy.headBudget(layer.value, kvHead) - 1;
}

bool DecodeEvictor::isOver(const cache::KvCache& cache, LayerId layer) const {
    std::int64_t rows = 0, allowed = 0;
    for (std::int32_t head = 0; head < cache.shape().kvHeads; ++head) {
        rows += cache.length(layer, HeadId{head});
        allowed += target(layer, head);
    }
    return rows > allowed;
}

void DecodeEvictor::makeRoom(cache::KvCache& cache, std::int64_t step,
                             std::vector<Eviction>& evictions) {
    if (step % m_setup.every != 0) {
        return;
    }
    cache.reserveForDecode(m_setup.every); // tight: the next appends take no more than that
    for (std::int32_t index = 0; index < cache.shape().layers; ++index) {
        const LayerId layer{index};
        if (!m_setup.shape.canEvict(index) || !isOver(cache, layer)) { // F034
            continue;
        }
        const cache::LayerPlan plan = planLayer(cache, layer, step);
        listEvictions(cache, plan, step, evictions);
        cache.apply(plan);
    }
}

/// Scores the heads of `input`, which hold the same number of tokens.
std::vector<DecodeEvictor::HeadState> DecodeEvictor::scoreHeads(const cache::KvCache& cache,
                                                                policy::LayerInput input,
                                                                std::int64_t step) const {
    const std::int64_t rows = input.keys.shape[1];
    // The new token will be the most recent one.
    const std::int64_t recent = m_policy.recent - 1;
    const std::int64_t sink = std::min(m_policy.sink, rows);
    const policy::TokenRange candidates{sink, std::max<std::int64_t>(rows - sink - recent, 0)};
    std::vector<HeadState> heads(static_cast<std::size_t>(input.keys.shape[0]),
                                 HeadState{candidates, rows, {}});
    if (candidates.count == 0) {
        return heads;
    }
    policy::ResolvedPolicy policy = m_policy;
    policy.config.seed += static_cast<std::uint64_t>(step) * kStepSeed;
    policy.tokens = rows;
    policy.recent = recent;
    policy.window =
        static_cast<int>(std::min<std::int64_t>(m_policy.window, input.windowQueries.shape[1]));
    std::vector<cache::RopePosition> ropePositions;
    if (cache.positionShift() != 0 || !cache.ropePositions().empty()) {
        for (const std::int64_t position : input.positions) {
            ropePositions.push_back(cache.ropePosition(position));
        }
    }
    const KeyRotation rotation(m_setup.ropes, input.layer, input.positions, ropePositions);
    input.rotation = rotation.get();
    const policy::LayerScores scores = policy::scoreLayer(input, policy, m_setup.backend);
    for (std::size_t head = 0; head < heads.size(); ++head) {
        const float* row = scores.score.data() + static_cast<std::int64_t>(head) * rows;
        heads[head].score.assign(row + candidates.first, row + candidates.end());
    }
    return heads;
}

std::vector<DecodeEvictor::HeadState>
DecodeEvictor::scoreLayer(const cache::KvCache& cache, LayerId layer, std::int64_t step) const {
    const QueryWindow& window = m_windows.at(layer.index());
    if (window.rows() == 0) {
        throwInternal(
            fmt::format("No query row of layer {} was seen before an eviction.", layer.value));
    }
    policy::LayerInput input;
    input.layer = layer;
    input.windowQueries = window.queries();
    input.windowPositions = window.positions();
    if (holdTheSame(cache, layer)) {
        input.keys = cache.layerKeys(layer);
        input.values = cache.layerValues(layer);
        input.positions = cache.positions(layer, HeadId{0});
        return scoreHeads(cache, input, step);
    }
    const std::int64_t group = input.windowQueries.shape[0] / cache.shape().kvHeads;
    std::vector<HeadState> heads;
    for (std::int32_t head = 0; head < cache.shape().kvHeads; ++head) {
        input.keys = oneHead(cache.keys(layer, HeadId{head}));
        input.values = oneHead(cache.values(layer, HeadId{head}));
        input.positions = cache.positions(layer, HeadId{head});
        input.windowQueries = window.queries().slice(0, head * group, (head + 1) * group);
        input.firstHead = head;
        heads.push_back(scoreHeads(cache, input, step).front());
    }
    return heads;
}

cache::LayerPlan DecodeEvictor::planLayer(const cache::KvCache& cache, LayerId layer,
                                          std::int64_t step) const {
    const std::vector<HeadState> states = scoreLayer(cache, layer, step);
    std::vector<policy::HeadCandidates> heads;
    for (std::int32_t head = 0; head < cache.shape().kvHeads; ++head) {
        const HeadState& state = states[static_cast<std::size_t>(head)];
        heads.push_back({state.score, target(layer, head), state.rows - state.candidates.count});
    }
    const std::vector<std::int64_t> budgets = policy::allocateLayer(heads, m_policy.config);
    cache::LayerPlan plan{layer, {}, true};
    for (std::size_t head = 0; head < states.size(); ++head) {
        plan.keptRows.push_back(policy::selectRows(states[head].score, states[head].candidates,
                                                   states[head].rows, budgets[head]));
    }
    return plan;
}

} // namespace ecokv::session
