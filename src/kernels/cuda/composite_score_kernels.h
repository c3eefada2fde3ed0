#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Device side of compositeScore: one block per KV head. A first pass finds ranges and means, a
// second writes every output; what both need (pooling, min-max) is computed twice rather than
// stored.

#include "kernels/composite_score.h"
#include "kernels/cuda/block_reduce.h"
#include "kernels/cuda/element.h"

namespace ecokv::kernels::cuda {

inline constexpr int kScoreThreads = 256;

/// Device pointers; shapes over the candidates of a layer.
struct ScoreArguments {
    const float *attention, *cosine, *euclid,
        *valueNorm;                             ///< [kvHead, token]; valueNorm may be null
    const double *redundancy, *meanSquaredNorm; ///< [kvHead]
    float *importance, *diversityCosine, *diversityEuclid, *diversity, *score; ///< [kvHead, token]
    std::uint8_t* constant;                                                    ///< [kvHead, 3]
    std::int64_t tokens, attentionStride;
    int poolKernel;
    PoolMode poolMode;
    double alpha;
};

struct DeviceRange {
    double low, high;
    bool constant; ///< decided by the caller; a constant vector scales to 0

    ECOKV_DEVICE bool empty() const { return low > high; }
    ECOKV_DEVICE double spread() const { return high - low; }
    ECOKV_DEVICE double minmax(float value, bool descending) const {
        const auto wide = static_cast<double>(value);
        if (constant || !isFinite(wide)) {
            return 0.0;
        }
        return (descending ? high - wide : wide - low) / spread();
    }
};

ECOKV_DEVICE DeviceRange finiteRange(const float* values, std::int64_t count) {
    double high = -HUGE_VAL, negatedLow = -HUGE_VAL;
    for (std::int64_t i = simt::thread(); i < count; i += simt::threads()) {
        const auto value = static_cast<double>(values[i]);
        if (isFinite(value)) {
            high = Largest::join(high, value);
            negatedLow = Largest::join(negatedLow, -value);
        }
    }
    high = blockReduce<Largest>(high);
    negatedLow = blockReduce<Largest>(negatedLow);
    return {-negatedLow, high, false};
}

ECOKV_DEVICE double pooledAttention(const float* attention, std::int64_t count, std::int64_t at,
                                    int kernel, PoolMode mode) {
    const std::int64_t half = kernel / 2;
    const std::int64_t begin = at < half ? 0 : at - half;
    const std::int64_t end = at + half + 1 < count ? at + half + 1 : count;
    double sum = 0, largest = 0; // attention is never negative
    for (std::int64_t i = begin; i < end; ++i) {
        const auto raw = static_cast<double>(attention[i]);
        const double value = isFinite(raw) ? raw : 0.0;
        sum += value;
        largest = Largest::join(largest, value);
    }
    if (mode == PoolMode::Max) {
        return largest;
    }
    return sum / static_cast<double>(mode == PoolMode::Average ? end - begin : kernel);
}

/// What the second pass needs of the first.
struct HeadRanges {
    DeviceRange cosine, euclid, value;
};

ECOKV_DEVICE HeadRanges rangesOfHead(const ScoreArguments& a, std::int64_t row, int head) {
    HeadRanges ranges{
        finiteRange(a.cosine + row, a.tokens), finiteRange(a.euclid + row, a.tokens), {0, 0, true}};
    // the rules of constant_rules.h
    DeviceRange& c = ranges.cosine;
    c.constant = c.empty() || c.spread() <= 1e-6;
    DeviceRange& e = ranges.euclid;
    e.constant = e.empty() || e.high * e.high <= 1e-5 * a.meanSquaredNorm[head] ||
                 e.spread() <= 1e-6 * e.high;
    if (a.valueNorm != nullptr) {
        ranges.value = finiteRange(a.valueNorm + row, a.tokens);
        DeviceRange& v = ranges.value;
        v.constant = v.empty() || v.spread() <= 1e-6 * v.high;
    }
    return ranges;
}

ECOKV_DEVICE double diversityOf(const ScoreArguments& a, const HeadRanges& ranges,
                                std::int64_t at) {
    return a.alpha * ranges.cosine.minmax(a.cosine[at], true) +
           (1 - a.alpha) * ranges.euclid.minmax(a.euclid[at], false);
}

/// Grid (1, kvHeads).
ECOKV_GLOBAL void scoreHeads(ScoreArguments a) {
    const int head = simt::blockY();
    const std::int64_t row = head * a.tokens;
    const float* attention = a.attention + head * a.attentionStride;
    const HeadRanges ranges = rangesOfHead(a, row, head);
    double attentionSum = 0, valueSum = 0, diversitySum = 0;
    for (std::int64_t i = simt::thread(); i < a.tokens; i += simt::threads()) {
        attentionSum += pooledAttention(attention, a.tokens, i, a.poolKernel, a.poolMode);
        valueSum += a.valueNorm != nullptr ? ranges.value.minmax(a.valueNorm[row + i], false) : 0.0;
        diversitySum += diversityOf(a, ranges, row + i);
    }
    attentionSum = blockReduce<Sum>(attentionSum);
    valueSum = blockReduce<Sum>(valueSum);
    diversitySum = blockReduce<Sum>(diversitySum);

    // imp = A + N with mean(N) = mean(A), so the sum doubles where N is not constant
    const double valueScale = valueSum > 0 ? attentionSum / valueSum : 0.0;
    const double importanceSum = attentionSum * (valueSum > 0 ? 2.0 : 1.0);
    const double exchange = diversitySum > 0 ? importanceSum / diversitySum : 0.0;
    const double given = a.redundancy[head];
    const double r = given > 0 ? (given < 1 ? given : 1.0) : 0.0;
    for (std::int64_t i = simt::thread(); i < a.tokens; i += simt::threads()) {
        const std::int64_t at = row + i;
        double importance = pooledAttention(attention, a.tokens, i, a.poolKernel, a.poolMode);
        if (a.valueNorm != nullptr) {
            importance += ranges.value.minmax(a.valueNorm[at], false) * valueScale;
        }
        const double diversity = diversityOf(a, ranges, at);
        a.importance[at] = static_cast<float>(importance);
        a.diversityCosine[at] = static_cast<float>(ranges.cosine.minmax(a.cosine[at], true));
        a.diversityEuclid[at] = static_cast<float>(ranges.euclid.minmax(a.euclid[at], false));
        a.diversity[at] = static_cast<float>(diversity);
        a.score[at] = static_cast<float>((1 - r) * importance + r * diversity * exchange);
    }
    if (simt::thread() == 0) {
        a.constant[3 * head] = ranges.cosine.constant ? 1 : 0;
        a.constant[3 * head + 1] = ranges.euclid.constant ? 1 : 0;
        a.constant[3 * head + 2] = a.valueNorm != nullptr && ranges.value.constant ? 1 : 0;
    }
}

} // namespace ecokv::kernels::cuda
