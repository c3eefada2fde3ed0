#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One layer made by hand or from a seed: owns its numbers, hands out the LayerInput. Positions are
// 0 .. tokens - 1 and the window rows are the last ones.

#include "policy/policy.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace ecokv::policy::test {

struct LayerSize {
    int kvHeads = 1, group = 1, tokens = 6, rows = 2, dim = 2;
};

class Layer {
public:
    explicit Layer(const LayerSize& size, int layer = 0)
        : keys(count(size.kvHeads * size.tokens * size.dim)), values(keys.size()),
          queries(count(size.kvHeads * size.group * size.rows * size.dim)), m_size(size),
          m_layer(layer) {
        for (int token = 0; token < size.tokens; ++token) {
            m_positions.push_back(token);
        }
        m_windowPositions.assign(m_positions.end() - size.rows, m_positions.end());
    }

    /// Normal numbers; `shift` moves all keys the same way, which makes the heads redundant.
    static Layer random(const LayerSize& size, std::uint32_t seed, float shift = 0.5F,
                        int index = 0) {
        Layer layer(size, index);
        std::mt19937 generator(seed);
        std::normal_distribution<float> normal;
        const auto draw = [&](float mean) {
            return [&, mean] { return mean + normal(generator); };
        };
        std::ranges::generate(layer.keys, draw(shift));
        std::ranges::generate(layer.values, draw(0.0F));
        std::ranges::generate(layer.queries, draw(0.2F));
        return layer;
    }

    /// From now on the keys count as rotated, which geometry=pre undoes. `dim` must be even.
    void rotate() {
        for (int pair = 0; pair < m_size.dim / 2; ++pair) {
            m_frequencies.push_back(std::pow(100.0F, -2.0F * static_cast<float>(pair) /
                                                         static_cast<float>(m_size.dim)));
        }
    }

    LayerInput input() {
        m_rotation = {kernels::RopeStyle::Half, m_frequencies.data(), m_positions.data(), 1.0F};
        return {
            .layer = LayerId{m_layer},
            .keys = view(keys, m_size.kvHeads, m_size.tokens),
            .values = view(values, m_size.kvHeads, m_size.tokens),
            .windowQueries = view(queries, m_size.kvHeads * m_size.group, m_size.rows),
            .positions = m_positions,
            .windowPositions = m_windowPositions,
            .rotation = m_frequencies.empty() ? nullptr : &m_rotation,
        };
    }

    std::vector<float> keys, values, queries; ///< [head, row, dim] f32

private:
    static std::size_t count(int numbers) { return static_cast<std::size_t>(numbers); }
    TensorView view(std::vector<float>& data, int heads, int rows) const {
        return TensorView::contiguous(data.data(), DType::F32, {heads, rows, m_size.dim});
    }

    LayerSize m_size;
    int m_layer;
    std::vector<std::int64_t> m_positions, m_windowPositions;
    std::vector<float> m_frequencies; ///< [dim / 2]
    kernels::Rotation m_rotation;
};

struct Outcome {
    LayerScores scores;
    cache::LayerPlan plan;
};

inline Outcome run(Layer& layer, const std::string& policy,
                   kernels::Backend backend = kernels::Backend::Cpu) {
    const LayerInput input = layer.input();
    const ResolvedPolicy resolved = resolve(parsePolicy(policy), input.keys.shape[1]);
    Outcome outcome;
    outcome.scores = scoreLayer(input, resolved, backend);
    outcome.plan = planLayer(outcome.scores, resolved);
    return outcome;
}

using Rows = std::vector<std::int32_t>;

} // namespace ecokv::policy::test
