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

/// One KV head in float32.
struct HeadTensors {
    std::int64_t tokens = 0, dim = 0;
    std::vector<float> keys, values; ///< [token, dim]

    const float* key(std::int64_t token) const { return keys.data() + token * dim; }
    const float* value(std::int64_t token) const { return values.data() + token * dim; }
};

/// Sums over the rows and query heads of one KV head.
struct RowSums {
    double mass = 0, errorSquared = 0, outputSquared = 0;
    std::int64_t rows = 0;
};

float dot(const float* a, const float* b, std::int64_t count) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < count; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/// softmax(q k / sqrt(dim)) of one row over the keys at or before `position`; 0 behind it.
std::vector<double> attentionRow(const float* query, const HeadTensors& head,
                                 std::span<const std::int64_t> positions, std::int64_t position) {
    std::vector<double> weights(static_cast<std::size_t>(head.tokens), 0.0);
    const float scale = 1.0F / std::sqrt(static_cast<float>(head.dim));
    std::vector<float> scaled(query, query + head.dim);
    for (float& element : scaled) {
        element *= scale;
    }
    double top = -std::numeric_limits<double>::infinity();
    for (std::int64_t token = 0; token < head.tokens; ++token) {
        const auto at = static_cast<std::size_t>(token);
        if (positions[at] <= position) {
            weights[at] = dot(scaled.data(), head.key(token), head.dim);
            top = std::max(top, weights[at]);
        }
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

/// Values nobody attends to do not count, whatever they hold.
void addValue(std::vector<double>& output, double weight, const float* value) {
    if (weight == 0.0) {
        return;
    }
    for (std::size_t i = 0; i < output.size(); ++i) {
        output[i] += weight * static_cast<double>(value[i]);
    }
}

/// o = weights V over all tokens [dim].
std::vector<double> fullOutput(const std::vector<double>& weights, const HeadTensors& head) {
    std::vector<double> output(static_cast<std::size_t>(head.dim), 0.0);
    for (std::int64_t token = 0; token < head.tokens; ++token) {
        addValue(output, weights[static_cast<std::size_t>(token)], head.value(token));
    }
    return output;
}

/// Adds what one row loses when only `keptRows` stay.
void addRow(const std::vector<double>& weights, const std::vector<double>& full,
            const HeadTensors& head, const std::vector<std::int32_t>& keptRows, RowSums& sums) {
    std::vector<double> kept(full.size(), 0.0);
    double mass = 0;
    for (const std::int32_t row : keptRows) {
        const double weight = weights[static_cast<std::size_t>(row)];
        mass += weight;
        addValue(kept, weight, head.value(row));
    }
    for (std::size_t i = 0; i < full.size(); ++i) {
        const double answer = mass > 0 ? kept[i] / mass : 0.0;
        sums.errorSquared += (full[i] - answer) * (full[i] - answer);
        sums.outputSquared += full[i] * full[i];
    }
    sums.mass += mass;
    ++sums.rows;
}

void checkShapes(const LayerInput& input, std::span<const MeasuredPlan> plans) {
    bool fits = input.keys.rank == 3 && input.values.rank == 3 && input.windowQueries.rank == 3 &&
                input.keys.shape[0] == input.values.shape[0] &&
                input.keys.shape[1] == input.values.shape[1];
    for (const MeasuredPlan& measured : plans) {
        fits =
            fits && measured.plan->keptRows.size() == static_cast<std::size_t>(input.keys.shape[0]);
    }
    if (!fits) {
        throwInternal(fmt::format("Retention of layer {} got keys {}, values {}, queries {}.",
                                  input.layer.value, input.keys.describe(), input.values.describe(),
                                  input.windowQueries.describe()));
    }
}

/// Every plan on the rows of one KV head. [plan]
std::vector<RowSums> measureHead(const LayerInput& input, std::int64_t kvHead,
                                 std::span<const MeasuredPlan> plans) {
    const HeadTensors head{input.keys.shape[1], input.keys.shape[2], toFloat(input.keys[kvHead]),
                           toFloat(input.values[kvHead])};
    const std::int64_t group = input.windowQueries.shape[0] / input.keys.shape[0];
    const std::int64_t recorded = input.windowQueries.shape[1];
    std::int64_t most = 0;
    for (const MeasuredPlan& measured : plans) {
        most = std::max(most, measured.rows);
    }
    std::vector<RowSums> sums(plans.size());
    for (std::int64_t member = 0; member < group; ++member) {
        const auto queries = toFloat(input.windowQueries[kvHead * group + member]);
        for (std::int64_t row = recorded - std::min(most, recorded); row < recorded; ++row) {
            const auto position = input.windowPositions[static_cast<std::size_t>(row)];
            const auto weights =
                attentionRow(queries.data() + row * head.dim, head, input.positions, position);
            const auto full = fullOutput(weights, head);
            for (std::size_t i = 0; i < plans.size(); ++i) {
                if (recorded - row <= plans[i].rows) {
                    const auto& kept = plans[i].plan->keptRows[static_cast<std::size_t>(kvHead)];
                    addRow(weights, full, head, kept, sums[i]);
                }
            }
        }
    }
    return sums;
}

} // namespace

std::vector<Retention> measureRetentions(const LayerInput& input,
                                         std::span<const MeasuredPlan> plans) {
    checkShapes(input, plans);
    const std::int64_t kvHeads = input.keys.shape[0];
    const auto heads = static_cast<std::size_t>(kvHeads);
    std::vector<Retention> results(plans.size(),
                                   Retention{std::vector<float>(heads), std::vector<float>(heads)});
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t kvHead = 0; kvHead < kvHeads; ++kvHead) {
        const std::vector<RowSums> sums = measureHead(input, kvHead, plans);
        const auto at = static_cast<std::size_t>(kvHead);
        for (std::size_t i = 0; i < plans.size(); ++i) {
            const RowSums& total = sums[i];
            results[i].retainedMass[at] = static_cast<float>(
                total.rows > 0 ? total.mass / static_cast<double>(total.rows) : 1.0);
            results[i].outputError[at] = static_cast<float>(
                total.outputSquared > 0 ? std::sqrt(total.errorSquared / total.outputSquared)
                                        : 0.0);
        }
    }
    return results;
}

Retention measureRetention(const LayerInput& input, const cache::LayerPlan& plan,
                           std::int64_t rows) {
    const MeasuredPlan one{&plan, rows};
    return measureRetentions(input, std::span(&one, 1)).front();
}

} // namespace ecokv::policy
