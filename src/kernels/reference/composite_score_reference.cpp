// SPDX-License-Identifier: GPL-3.0-or-later
// The score of ecokv-1 as it stands, one head at a time in fp64.
#include "kernels/backends.h"
#include "kernels/constant_rules.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ecokv::kernels::reference {

namespace {

using Values = std::vector<double>;

double meanOf(const Values& values) {
    double sum = 0;
    for (const double value : values) {
        sum += value;
    }
    return sum / static_cast<double>(values.size());
}

Values pooled(const Values& values, int kernel, PoolMode mode) {
    const std::int64_t half = kernel / 2;
    const auto count = static_cast<std::int64_t>(values.size());
    Values result(values.size());
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t begin = std::max<std::int64_t>(0, i - half);
        const std::int64_t end = std::min(count, i + half + 1);
        double sum = 0;
        double largest = values[static_cast<std::size_t>(i)];
        for (std::int64_t j = begin; j < end; ++j) {
            sum += values[static_cast<std::size_t>(j)];
            largest = std::max(largest, values[static_cast<std::size_t>(j)]);
        }
        const auto covered = static_cast<double>(mode == PoolMode::Average ? end - begin : kernel);
        result[static_cast<std::size_t>(i)] = mode == PoolMode::Max ? largest : sum / covered;
    }
    return result;
}

Range rangeOf(const float* values, std::int64_t count) {
    Range range;
    for (std::int64_t i = 0; i < count; ++i) {
        range.include(values[i]);
    }
    return range;
}

/// (v - low) / (high - low), or (high - v) / (high - low) where `descending`; 0 where v is not
/// finite or the vector counts as constant.
Values minmax(const float* values, std::int64_t count, const Range& range, bool constant,
              bool descending = false) {
    Values result(static_cast<std::size_t>(count), 0.0);
    for (std::int64_t i = 0; i < count && !constant; ++i) {
        const double value = values[i];
        if (std::isfinite(value)) {
            const double above = descending ? static_cast<double>(range.high) - value
                                            : value - static_cast<double>(range.low);
            result[static_cast<std::size_t>(i)] = above / range.spread();
        }
    }
    return result;
}

/// Adds minmax(|v|), rescaled to the mean of the pooled attention.
void addValueNorm(const float* norms, std::int64_t count, const Range& range, bool constant,
                  Values& importance) {
    const Values scaled = minmax(norms, count, range, constant);
    const double mean = meanOf(scaled);
    const double attentionMean = meanOf(importance);
    for (std::size_t i = 0; mean > 0 && i < scaled.size(); ++i) {
        importance[i] += scaled[i] * attentionMean / mean;
    }
}

void store(const Values& values, float* out) {
    std::transform(values.begin(), values.end(), out,
                   [](double value) { return static_cast<float>(value); });
}

void scoreHead(const CompositeScoreInput& input, const CompositeScoreParams& params,
               std::int64_t head, const CompositeScoreOutput& output) {
    const std::int64_t count = input.tokens;
    const std::int64_t row = head * count;
    const float* raw = input.attention + head * input.rowStride;
    Values attention(static_cast<std::size_t>(count));
    std::transform(raw, raw + count, attention.begin(),
                   [](float value) { return std::isfinite(value) ? double{value} : 0.0; });
    Values importance = pooled(attention, params.poolKernel, params.poolMode);

    const Range cosines = rangeOf(input.cosine + row, count);
    const Range lengths = rangeOf(input.euclid + row, count);
    std::uint8_t* constant = output.constant + 3 * head;
    constant[0] = cosineIsConstant(cosines);
    constant[1] = euclidIsConstant(lengths, input.meanSquaredNorm[head]);
    constant[2] = 0;
    if (params.addValueNorm) {
        const Range norms = rangeOf(input.valueNorm + row, count);
        constant[2] = valueNormIsConstant(norms);
        addValueNorm(input.valueNorm + row, count, norms, constant[2] != 0, importance);
    }

    const Values byCosine = minmax(input.cosine + row, count, cosines, constant[0] != 0, true);
    const Values byEuclid = minmax(input.euclid + row, count, lengths, constant[1] != 0);
    const double alpha = params.alpha;
    Values diversity(byCosine.size());
    for (std::size_t i = 0; i < diversity.size(); ++i) {
        diversity[i] = alpha * byCosine[i] + (1 - alpha) * byEuclid[i];
    }
    const double r = usableRedundancy(input.redundancy[head]);
    const double diversityMean = meanOf(diversity);
    const double exchange = diversityMean > 0 ? meanOf(importance) / diversityMean : 0.0;
    Values score(diversity.size());
    for (std::size_t i = 0; i < score.size(); ++i) {
        score[i] = (1 - r) * importance[i] + r * diversity[i] * exchange;
    }
    store(importance, output.importance + row);
    store(byCosine, output.diversityCosine + row);
    store(byEuclid, output.diversityEuclid + row);
    store(diversity, output.diversity + row);
    store(score, output.score + row);
}

} // namespace

Status compositeScore(const CompositeScoreInput& input, const CompositeScoreParams& params,
                      const CompositeScoreOutput& output) {
    for (std::int64_t head = 0; head < input.kvHeads && input.tokens > 0; ++head) {
        scoreHead(input, params, head, output);
    }
    return Status::Ok;
}

} // namespace ecokv::kernels::reference
