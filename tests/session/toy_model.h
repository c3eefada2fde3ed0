#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A model without weights whose keys, values and queries are fixed pseudo-random rows of their
// position, appended to a real cache: for tests of what happens to caches. Its answer is the
// position modulo 7, so it never ends by itself.

#include "session/fake_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace ecokv::session {

class ToyModel : public FakeModel {
public:
    static constexpr std::int32_t kLayers = 3, kKvHeads = 2, kHeads = 4, kDim = 8;

    ToyModel() : FakeModel("") {
        m_toyInfo.layers = kLayers;
        m_toyInfo.heads = kHeads;
        m_toyInfo.kvHeads = kKvHeads;
        m_toyInfo.headDim = kDim;
        m_toyInfo.name = "toy";
    }

    void limitPositions(std::int64_t most) { m_toyInfo.maxPositions = most; }
    const model::ModelInfo& info() const override { return m_toyInfo; }
    cache::CacheShape cacheShape() const override {
        return {kLayers, kKvHeads, kDim, DType::F32, {}};
    }

    std::vector<float> extend(std::span<const TokenId> tokens, cache::KvCache& cache,
                              model::LayerObserver* observer, const ProgressSink&,
                              const CancellationToken&) override {
        const std::int64_t first = cache.tokensSeen();
        const auto count = static_cast<std::int64_t>(tokens.size());
        std::vector<std::int64_t> positions(tokens.size());
        std::iota(positions.begin(), positions.end(), first);
        for (std::int32_t layer = 0; layer < kLayers; ++layer) {
            std::vector<float> keys = rows(layer, kKvHeads, first, count, 0.1);
            std::vector<float> values = rows(layer, kKvHeads, first, count, 0.7);
            std::vector<float> queries = rows(layer, kHeads, first, count, 1.3);
            const auto keyView =
                TensorView::contiguous(keys.data(), DType::F32, {kKvHeads, count, kDim});
            const auto valueView =
                TensorView::contiguous(values.data(), DType::F32, {kKvHeads, count, kDim});
            cache.append(LayerId{layer}, keyView, valueView, positions);
            if (observer == nullptr) {
                continue;
            }
            const std::int64_t wanted = std::min(observer->windowRows(LayerId{layer}), count);
            const auto queryView =
                TensorView::contiguous(queries.data(), DType::F32, {kHeads, count, kDim});
            observer->layerPrefilled(
                {.layer = LayerId{layer},
                 .keys = keyView,
                 .values = valueView,
                 .windowQueries = queryView.slice(1, count - wanted, count),
                 .positions = positions,
                 .windowPositions = std::span<const std::int64_t>(positions).last(
                     static_cast<std::size_t>(wanted))});
        }
        return logitsAt(cache.tokensSeen());
    }

    std::vector<float> decode(TokenId token, cache::KvCache& cache, const CancellationToken& cancel,
                              model::LayerObserver* observer) override {
        return extend({&token, 1}, cache, observer, {}, cancel);
    }

    std::vector<float> logitsAt(std::int64_t position) const {
        std::vector<float> logits(257, 0.0F);
        logits[static_cast<std::size_t>('a' + position % 7)] = 4.0F;
        return logits;
    }

    /// [head, token, dim]
    static std::vector<float> rows(std::int32_t layer, std::int32_t heads, std::int64_t first,
                                   std::int64_t count, double phase) {
        std::vector<float> data;
        for (std::int32_t head = 0; head < heads; ++head) {
            for (std::int64_t token = first; token < first + count; ++token) {
                for (std::int32_t dim = 0; dim < kDim; ++dim) {
                    const auto seed =
                        static_cast<double>(token * 131 + dim * 17 + head * 7 + layer * 1009);
                    data.push_back(static_cast<float>(std::sin(seed * 12.9898 + phase) * 1.5));
                }
            }
        }
        return data;
    }

private:
    model::ModelInfo m_toyInfo;
};

} // namespace ecokv::session
