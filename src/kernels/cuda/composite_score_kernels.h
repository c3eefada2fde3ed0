#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Device side of compositeScore, several blocks per KV head: ranges per block, then sums over the
// scaled values, then every output. What later passes need again (joined ranges, pooling, min-max)
// is computed again rather than stored. Blocks are joined in a fixed order.

#include "kernels/composite_score.h"
#include "kernels/cuda/block_reduce.h"
#include "kernels/cuda/element.h"

namespace ecokv::kernels::cuda {

inline constexpr int kScoreThreads = 256;
inline constexpr int kScoresPerBlock = 512;
inline constexpr int kRangeColumns = 6; ///< per block: highest and negated lowest of c, e, |v|
inline constexpr int kSumColumns = 3;   ///< per block: attention, value norm, diversity

/// Device pointers; shapes over the candidates of a layer.
struct ScoreArguments {
    const float *attention, *cosine, *euclid,
        *valueNorm;      ///< [kvHead, token]; valueNorm may be null
    const double* heads; ///< [kvHead, 2]: redundancy, m2
    float *importance, *diversityCosine, *diversityEuclid, *diversity, *score; ///< [kvHead, token]
    std::uint8_t* constant;                                                    ///< [kvHead, 3]
    double* ranges; ///< [kvHead, block, kRangeColumns], scratch
    double* sums;   ///< [kvHead, block, kSumColumns], scratch
    std::int64_t tokens, attentionStride;
    int blocks; ///< per head
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

/// The tokens [begin, end) of a block.
struct ScoreSpan {
    std::int64_t begin, end;

    ECOKV_DEVICE explicit ScoreSpan(const ScoreArguments& a)
        : begin(static_cast<std::int64_t>(simt::blockX()) * kScoresPerBlock),
          end(begin + kScoresPerBlock < a.tokens ? begin + kScoresPerBlock : a.tokens) {}
};

ECOKV_DEVICE void widen(double (&range)[kRangeColumns], int at, float value) {
    const auto wide = static_cast<double>(value);
    if (isFinite(wide)) {
        range[at] = Largest::join(range[at], wide);
        range[at + 1] = Largest::join(range[at + 1], -wide);
    }
}

/// Grid (blocks, kvHeads).
ECOKV_GLOBAL void scoreRanges(ScoreArguments a) {
    const int head = simt::blockY();
    const std::int64_t row = head * a.tokens;
    const ScoreSpan span(a);
    double range[kRangeColumns];
    for (double& bound : range) {
        bound = -HUGE_VAL;
    }
    for (std::int64_t i = span.begin + simt::thread(); i < span.end; i += simt::threads()) {
        widen(range, 0, a.cosine[row + i]);
        widen(range, 2, a.euclid[row + i]);
        if (a.valueNorm != nullptr) {
            widen(range, 4, a.valueNorm[row + i]);
        }
    }
    blockReduceAll<Largest>(range);
    if (simt::thread() == 0) {
        double* out = a.ranges +
                      (static_cast<std::int64_t>(head) * a.blocks + simt::blockX()) * kRangeColumns;
        for (int i = 0; i < kRangeColumns; ++i) {
            out[i] = range[i];
        }
    }
}

/// The values of all blocks of a head, joined; every thread of the block gets them.
template <class Op, int count>
ECOKV_DEVICE void joinBlocks(const double* values, int blocks, double (&joined)[count]) {
    const double* own = values + static_cast<std::int64_t>(simt::blockY()) * blocks * count;
    for (double& value : joined) {
        value = Op::identity();
    }
    for (int block = simt::thread(); block < blocks; block += simt::threads()) {
        for (int i = 0; i < count; ++i) {
            joined[i] = Op::join(joined[i], own[block * count + i]);
        }
    }
    blockReduceAll<Op>(joined);
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

ECOKV_DEVICE HeadRanges rangesOfHead(const ScoreArguments& a, int head) {
    double range[kRangeColumns];
    joinBlocks<Largest>(a.ranges, a.blocks, range);
    HeadRanges ranges{{-range[1], range[0], false}, {-range[3], range[2], false}, {0, 0, true}};
    // the rules of constant_rules.h
    DeviceRange& c = ranges.cosine;
    c.constant = c.empty() || c.spread() <= 1e-6;
    DeviceRange& e = ranges.euclid;
    e.constant =
        e.empty() || e.high * e.high <= 1e-5 * a.heads[2 * head + 1] || e.spread() <= 1e-6 * e.high;
    if (a.valueNorm != nullptr) {
        DeviceRange& v = ranges.value;
        v = {-range[5], range[4], false};
        v.constant = v.empty() || v.spread() <= 1e-6 * v.high;
    }
    return ranges;
}

ECOKV_DEVICE double diversityOf(const ScoreArguments& a, const HeadRanges& ranges,
                                std::int64_t at) {
    return a.alpha * ranges.cosine.minmax(a.cosine[at], true) +
           (1 - a.alpha) * ranges.euclid.minmax(a.euclid[at], false);
}

/// Grid (blocks, kvHeads).
ECOKV_GLOBAL void scoreSums(ScoreArguments a) {
    const int head = simt::blockY();
    const std::int64_t row = head * a.tokens;
    const float* attention = a.attention + head * a.attentionStride;
    const HeadRanges ranges = rangesOfHead(a, head);
    const ScoreSpan span(a);
    double sums[kSumColumns] = {0, 0, 0};
    for (std::int64_t i = span.begin + simt::thread(); i < span.end; i += simt::threads()) {
        sums[0] += pooledAttention(attention, a.tokens, i, a.poolKernel, a.poolMode);
        sums[1] += a.valueNorm != nullptr ? ranges.value.minmax(a.valueNorm[row + i], false) : 0.0;
        sums[2] += diversityOf(a, ranges, row + i);
    }
    blockReduceAll<Sum>(sums);
    if (simt::thread() == 0) {
        double* out =
            a.sums + (static_cast<std::int64_t>(head) * a.blocks + simt::blockX()) * kSumColumns;
        for (int i = 0; i < kSumColumns; ++i) {
            out[i] = sums[i];
        }
    }
}

/// How the parts of a head's score are weighed.
struct HeadWeights {
    double valueScale, exchange, redundancy;

    ECOKV_DEVICE HeadWeights(const double (&sums)[kSumColumns], double given) {
        const double attention = sums[0], value = sums[1], diversity = sums[2];
        // imp = A + N with mean(N) = mean(A), so the sum doubles where N is not constant
        valueScale = value > 0 ? attention / value : 0.0;
        const double importance = attention * (value > 0 ? 2.0 : 1.0);
        exchange = diversity > 0 ? importance / diversity : 0.0;
        redundancy = given > 0 ? (given < 1 ? given : 1.0) : 0.0;
    }
};

/// Grid (blocks, kvHeads).
ECOKV_GLOBAL void writeScores(ScoreArguments a) {
    const int head = simt::blockY();
    const std::int64_t row = head * a.tokens;
    const float* attention = a.attention + head * a.attentionStride;
    const HeadRanges ranges = rangesOfHead(a, head);
    double sums[kSumColumns];
    joinBlocks<Sum>(a.sums, a.blocks, sums);
    const HeadWeights weights(sums, a.heads[2 * head]);
    const double r = weights.redundancy;
    const ScoreSpan span(a);
    for (std::int64_t i = span.begin + simt::thread(); i < span.end; i += simt::threads()) {
        const std::int64_t at = row + i;
        double importance = pooledAttention(attention, a.tokens, i, a.poolKernel, a.poolMode);
        if (a.valueNorm != nullptr) {
            importance += ranges.value.minmax(a.valueNorm[at], false) * weights.valueScale;
        }
        const double diversity = diversityOf(a, ranges, at);
        a.importance[at] = static_cast<float>(importance);
        a.diversityCosine[at] = static_cast<float>(ranges.cosine.minmax(a.cosine[at], true));
        a.diversityEuclid[at] = static_cast<float>(ranges.euclid.minmax(a.euclid[at], false));
        a.diversity[at] = static_cast<float>(diversity);
        a.score[at] = static_cast<float>((1 - r) * importance + r * diversity * weights.exchange);
    }
    if (simt::blockX() == 0 && simt::thread() == 0) {
        a.constant[3 * head] = ranges.cosine.constant ? 1 : 0;
        a.constant[3 * head + 1] = ranges.euclid.constant ? 1 : 0;
        a.constant[3 * head + 2] = a.valueNorm != nullptr && ranges.value.constant ? 1 : 0;
    }
}

} // namespace ecokv::kernels::cuda
