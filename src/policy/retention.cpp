// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/retention.h"

#include "base/error.h"
#include "kernels/row_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ecokv::policy {

namespace {

/// [row, dim] rows of a rank-2 view as contiguous float32.
std::vector<float> toFloat(const TensorView& view) {
    const std::int64_t dim = view.shape[1];
    std::vector<float> out(static_cast<std::size_t>(view.shape[0] * dim));
    for (std::int64_t row = 0; row < view.shape[0]; ++row) {
        for (std::int64_t i = 0; i < dim; ++i) {
            out[static_cast<std::size_t>(row * dim + i)] =
                kernels::elementAsFloat(view, row * view.strides[0] + i * view.strides[1]);
        }
    }
    return out;
}

/// One KV head in float32, with which of its tokens survive.
struct HeadTensors {
    std::int64_t tokens = 0, dim = 0;
    std::vector<float> keys, values; ///< [token, dim]
    std::vector<std::uint8_t> kept;  ///< [token]
};

struct RowSums {
    double mass = 0, errorSquared = 0, outputSquared = 0;
};

/// softmax(q k / sqrt(dim)) of one row over the keys at or before `position`; 0 behind it.
std::vector<double> attentionRow(const float* query, const HeadTensors& head,
                                 std::span<const std::int64_t> positions, std::int64_t position) {
    std::vector<double> weights(static_cast<std::size_t>(head.tokens), 0.0);
    const float scale = 1.0F / std::sqrt(static_cast<float>(head.dim));
    double top = -std::numeric_limits<double>::infinity();
    for (std::int64_t token = 0; token < head.tokens; ++token) {
        const auto at = static_cast<std::size_t>(token);
        if (positions[at] > position) {
            continue;
        }
        float dot = 0;
        for (std::int64_t i = 0; i < head.dim; ++i) {
            dot += query[i] * scale * head.keys[static_cast<std::size_t>(token * head.dim + i)];
        }
        weights[at] = dot;
        top = std::max(top, weights[at]);
    }
    double sum = 0;
    for (std::size_t at = 0; at < weights.size(); ++at) {
        weights[at] = positions[at] > position ? 0.0 : std::exp(weights[at] - top);
        sum += weights[at];
    }
    for (double& weight : weights) {
        weight = sum > 0 ? weight / sum : 0.0;
    }
    return weights;
}

RowSums measureRow(const std::vector<double>& weights, const HeadTensors& head) {
    RowSums sums;
    std::vector<double> full(static_cast<std::size_t>(head.dim), 0.0);
    std::vector<double> kept(static_cast<std::size_t>(head.dim), 0.0);
    for (std::int64_t token = 0; token < head.tokens; ++token) {
        const double weight = weights[static_cast<std::size_t>(token)];
        if (weight == 0.0) {
            continue;
        }
        const bool survives = head.kept[static_cast<std::size_t>(token)] != 0;
        sums.mass += survives ? weight : 0.0;
        const float* value = head.values.data() + token * head.dim;
        for (std::size_t i = 0; i < full.size(); ++i) {
            const double part = weight * static_cast<double>(value[i]);
            full[i] += part;
            kept[i] += survives ? part : 0.0;
        }
    }
    for (std::size_t i = 0; i < full.size(); ++i) {
        const double answer = sums.mass > 0 ? kept[i] / sums.mass : 0.0;
        sums.errorSquared += (full[i] - answer) * (full[i] - answer);
        sums.outputSquared += full[i] * full[i];
    }
    return sums;
}

void checkShapes(const LayerInput& input, const cache::LayerPlan& plan) {
    const bool fits = input.keys.rank == 3 && input.values.rank == 3 &&
                      input.windowQueries.rank == 3 &&
                      input.keys.shape[0] == input.values.shape[0] &&
                      input.keys.shape[1] == input.values.shape[1] &&
                      plan.keptRows.size() == static_cast<std::size_t>(input.keys.shape[0]);
    if (!fits) {
        throwInternal(fmt::format("Retention of layer {} got keys {}, values {}, queries {}.",
                                  input.layer.value, input.keys.describe(), input.values.describe(),
                                  input.windowQueries.describe()));
    }
}

} // namespace

Retention measureRetention(const LayerInput& input, const cache::LayerPlan& plan,
                           std::int64_t rows) {
    checkShapes(input, plan);
    const std::int64_t kvHeads = input.keys.shape[0];
    const std::int64_t group = input.windowQueries.shape[0] / kvHeads;
    const std::int64_t recorded = input.windowQueries.shape[1];
    const std::int64_t first = recorded - std::min(rows, recorded);
    Retention result{std::vector<float>(static_cast<std::size_t>(kvHeads)),
                     std::vector<float>(static_cast<std::size_t>(kvHeads))};
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t kvHead = 0; kvHead < kvHeads; ++kvHead) {
        HeadTensors head{input.keys.shape[1],
                         input.keys.shape[2],
                         toFloat(input.keys[kvHead]),
                         toFloat(input.values[kvHead]),
                         {}};
        head.kept.assign(static_cast<std::size_t>(head.tokens), 0);
        for (const std::int32_t row : plan.keptRows[static_cast<std::size_t>(kvHead)]) {
            head.kept[static_cast<std::size_t>(row)] = 1;
        }
        RowSums total;
        for (std::int64_t member = 0; member < group; ++member) {
            const auto queries = toFloat(input.windowQueries[kvHead * group + member]);
            for (std::int64_t row = first; row < recorded; ++row) {
                const auto position = input.windowPositions[static_cast<std::size_t>(row)];
                const RowSums sums = measureRow(
                    attentionRow(queries.data() + row * head.dim, head, input.positions, position),
                    head);
                total.mass += sums.mass;
                total.errorSquared += sums.errorSquared;
                total.outputSquared += sums.outputSquared;
            }
        }
        const auto at = static_cast<std::size_t>(kvHead);
        const auto count = static_cast<double>(group * (recorded - first));
        result.retainedMass[at] = static_cast<float>(count > 0 ? total.mass / count : 1.0);
        result.outputError[at] = static_cast<float>(
            total.outputSquared > 0 ? std::sqrt(total.errorSquared / total.outputSquared) : 0.0);
    }
    return result;
}

} // namespace ecokv::policy
