// SPDX-License-Identifier: GPL-3.0-or-later
#include "cache/kv_cache.h"

#include "base/error.h"
#include "cache/layer_state.h"
#include "cache/layer_storage.h"
#include "cache/row_checks.h"

#include <algorithm>

#include <fmt/format.h>

namespace ecokv::cache {

struct KvCache::Layer {
    explicit Layer(const RowLayout& layout) : storage(layout) {}

    LayerStorage storage;
    LayerState state;
    bool reserved = false; ///< the room asked for by reserveForDecode has been allocated
};

namespace {

constexpr std::int64_t kGrowthDivisor = 2; // grow by half of the longest head

RowLayout layoutOf(const CacheShape& shape) {
    return {shape.kvHeads, shape.headDim, shape.dtype, shape.device};
}

} // namespace

KvCache::KvCache(const CacheShape& shape) : m_shape(shape) {
    if (shape.layers <= 0 || shape.kvHeads <= 0 || shape.headDim <= 0) {
        throwInternal(fmt::format("A KV cache of {} layers, {} KV heads and {} dimensions was "
                                  "asked for; each must be at least 1.",
                                  shape.layers, shape.kvHeads, shape.headDim));
    }
    clear();
}

KvCache::~KvCache() = default;
KvCache::KvCache(KvCache&&) noexcept = default;
KvCache& KvCache::operator=(KvCache&&) noexcept = default;

const CacheShape& KvCache::shape() const {
    return m_shape;
}

KvCache::Layer& KvCache::at(LayerId layer) const {
    if (layer.value < 0 || layer.value >= m_shape.layers) {
        throwInternal(fmt::format("Layer {} was asked of a KV cache with layers 0 to {}.",
                                  layer.value, m_shape.layers - 1));
    }
    return *m_layers[layer.index()];
}

std::size_t KvCache::headIndex(HeadId head) const {
    if (head.value < 0 || head.value >= m_shape.kvHeads) {
        throwInternal(fmt::format("KV head {} was asked of a cache with KV heads 0 to {}.",
                                  head.value, m_shape.kvHeads - 1));
    }
    return head.index();
}

void KvCache::append(LayerId layer, const TensorView& keys, const TensorView& values,
                     std::span<const std::int64_t> positions) {
    Layer& target = at(layer);
    const auto count = static_cast<std::int64_t>(positions.size());
    checkAppended(m_shape, layer, "keys", keys, count);
    checkAppended(m_shape, layer, "values", values, count);
    checkPositions(layer, target.storage.lastPosition(), positions);
    if (count == 0) {
        return;
    }
    if (!target.reserved && target.storage.spare() < count + m_reserve) {
        target.storage.reallocate(count + m_reserve);
    } else if (target.storage.spare() < count) {
        target.storage.reallocate(std::max(count, target.storage.longest() / kGrowthDivisor));
    }
    target.reserved = true;
    target.storage.append(keys, values, positions);
}

void KvCache::apply(const LayerPlan& plan) {
    Layer& target = at(plan.layer);
    if (plan.keptRows.size() != static_cast<std::size_t>(m_shape.kvHeads)) {
        throwInternal(fmt::format("The plan of layer {} names {} KV heads; the cache has {}.",
                                  plan.layer.value, plan.keptRows.size(), m_shape.kvHeads));
    }
    for (std::size_t head = 0; head < plan.keptRows.size(); ++head) {
        checkKeptRows(plan, head, target.storage.length(head));
    }
    target.storage.compact(plan.keptRows, m_reserve);
    target.reserved = true;
}

void KvCache::reserveForDecode(std::int64_t tokens) {
    m_reserve = std::max<std::int64_t>(tokens, 0);
    for (const auto& layer : m_layers) {
        layer->reserved = false;
    }
}

void KvCache::reserve(LayerId layer, std::int64_t rows) {
    Layer& target = at(layer);
    const std::int64_t spare = std::max<std::int64_t>(rows, 0) + m_reserve;
    if (target.storage.spare() < spare) {
        target.storage.reallocate(spare);
    }
    target.reserved = true;
}

void KvCache::clear() {
    m_positionShift = 0;
    m_ropePositions.clear();
    m_layers.clear();
    for (std::int32_t layer = 0; layer < m_shape.layers; ++layer) {
        m_layers.push_back(std::make_unique<Layer>(layoutOf(m_shape)));
    }
}

void KvCache::copyLayer(const KvCache& source, LayerId layer) {
    const CacheShape& other = source.m_shape;
    if (other.kvHeads != m_shape.kvHeads || other.headDim != m_shape.headDim ||
        other.dtype != m_shape.dtype || other.device != m_shape.device) {
        throwInternal(fmt::format("Layer {} cannot be copied from a cache of {} KV heads x {} {} "
                                  "into one of {} x {} {}.",
                                  layer.value, other.kvHeads, other.headDim, dtypeName(other.dtype),
                                  m_shape.kvHeads, m_shape.headDim, dtypeName(m_shape.dtype)));
    }
    if (this == &source) {
        return;
    }
    Layer& target = at(layer);
    target.storage.copyFrom(source.at(layer).storage, m_reserve);
    target.state.set(source.at(layer).state.tensors(), m_shape.device);
    target.reserved = true;
}

KvCache KvCache::clone(std::int64_t reserve) const {
    KvCache copy(m_shape);
    copy.reserveForDecode(reserve);
    for (std::int32_t layer = 0; layer < m_shape.layers; ++layer) {
        copy.copyLayer(*this, LayerId{layer});
    }
    copy.copyUnevicted(*this);
    return copy;
}

void KvCache::copyUnevicted(const KvCache& source) {
    if (source.m_shape.layers != m_shape.layers) {
        throwInternal(fmt::format("States of {} layers cannot be copied into a cache of {}.",
                                  source.m_shape.layers, m_shape.layers));
    }
    if (this == &source) {
        return;
    }
    m_positionShift = source.m_positionShift;
    m_ropePositions = source.m_ropePositions;
    for (std::size_t layer = 0; layer < m_layers.size(); ++layer) {
        m_layers[layer]->state.set(source.m_layers[layer]->state.tensors(), m_shape.device);
    }
}

void KvCache::setRopePositions(std::span<const RopePosition> ofTokens) {
    m_ropePositions.assign(ofTokens.begin(), ofTokens.end());
    std::int64_t next = 0;
    for (const RopePosition& position : m_ropePositions) {
        next = std::max<std::int64_t>(next, std::int64_t{std::ranges::max(position)} + 1);
    }
    m_positionShift = next - std::ssize(m_ropePositions);
}

RopePosition KvCache::ropePosition(std::int64_t position) const {
    if (position < std::ssize(m_ropePositions)) {
        return m_ropePositions[static_cast<std::size_t>(position)];
    }
    const auto shifted = static_cast<std::int32_t>(position + m_positionShift);
    return {shifted, shifted, shifted};
}

std::span<const TensorView> KvCache::state(LayerId layer) const {
    return at(layer).state.tensors();
}

void KvCache::setState(LayerId layer, std::span<const TensorView> tensors) {
    at(layer).state.set(tensors, m_shape.device);
}

std::size_t KvCache::stateBytes() const {
    std::size_t total = 0;
    for (const auto& layer : m_layers) {
        total += layer->state.bytes();
    }
    return total;
}

void KvCache::restoreLayer(LayerId layer, std::span<const HeadRows> heads, std::int64_t seen) {
    Layer& target = at(layer);
    if (heads.size() != static_cast<std::size_t>(m_shape.kvHeads)) {
        throwInternal(fmt::format("{} KV heads were given for layer {}; the cache has {}.",
                                  heads.size(), layer.value, m_shape.kvHeads));
    }
    for (const HeadRows& head : heads) {
        const auto rows = static_cast<std::int64_t>(head.positions.size());
        checkRestored(m_shape, layer, head.keys, rows);
        checkRestored(m_shape, layer, head.values, rows);
        checkPositions(layer, -1, head.positions);
        if (rows > 0 && head.positions.back() >= seen) {
            throwInternal(fmt::format("Layer {} holds position {}, but only {} tokens were seen.",
                                      layer.value, head.positions.back(), seen));
        }
    }
    target.storage.restore(heads, seen, m_reserve);
    target.reserved = true;
}

TensorView KvCache::keys(LayerId layer, HeadId head) const {
    return at(layer).storage.head(Part::Keys, headIndex(head));
}

TensorView KvCache::values(LayerId layer, HeadId head) const {
    return at(layer).storage.head(Part::Values, headIndex(head));
}

std::span<const std::int64_t> KvCache::positions(LayerId layer, HeadId head) const {
    return at(layer).storage.positions(headIndex(head));
}

std::int64_t KvCache::length(LayerId layer, HeadId head) const {
    return at(layer).storage.length(headIndex(head));
}

bool KvCache::isUniform(LayerId layer) const {
    return at(layer).storage.isUniform();
}

TensorView KvCache::uniformView(LayerId layer, Part part) const {
    const LayerStorage& storage = at(layer).storage;
    if (!storage.isUniform()) {
        throwInternal(fmt::format("The KV heads of layer {} hold different numbers of tokens; "
                                  "read them one by one.",
                                  layer.value));
    }
    return storage.all(part);
}

TensorView KvCache::layerKeys(LayerId layer) const {
    return uniformView(layer, Part::Keys);
}

TensorView KvCache::layerValues(LayerId layer) const {
    return uniformView(layer, Part::Values);
}

std::int64_t KvCache::tokensSeen() const {
    std::int64_t seen = 0;
    for (const auto& layer : m_layers) {
        seen = std::max(seen, layer->storage.seen());
    }
    return seen;
}

std::size_t KvCache::bytes() const {
    std::size_t total = 0;
    for (const auto& layer : m_layers) {
        total += layer->storage.bytes();
    }
    return total;
}

std::size_t KvCache::usedBytes() const {
    std::size_t total = 0;
    for (const auto& layer : m_layers) {
        total += layer->storage.usedBytes();
    }
    return total;
}

} // namespace ecokv::cache
