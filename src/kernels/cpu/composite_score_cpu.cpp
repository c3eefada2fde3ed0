// SPDX-License-Identifier: GPL-3.0-or-later
// Heads on threads; each head is a handful of sweeps over rows that fit the caches.
#include "kernels/backends.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_source.h"
#include "kernels/cpu/score_rows.h"

#include <algorithm>
#include <limits>

namespace ecokv::kernels::cpu {

namespace {

/// One head: pointers to its rows, all [token].
struct HeadRows {
    std::int64_t tokens = 0;
    const float *attention, *cosine, *euclid, *valueNorm;
    float *importance, *byCosine, *byEuclid, *diversity, *score;
    std::uint8_t* constant;
    float* padded; ///< scratch [tokens + kernel + 15]
};

HeadRows rowsOf(const CompositeScoreInput& input, const CompositeScoreOutput& output,
                std::int64_t head, float* padded) {
    const std::int64_t row = head * input.tokens;
    return {input.tokens,
            input.attention + head * input.rowStride,
            input.cosine + row,
            input.euclid + row,
            input.valueNorm ? input.valueNorm + row : nullptr,
            output.importance + row,
            output.diversityCosine + row,
            output.diversityEuclid + row,
            output.diversity + row,
            output.score + row,
            output.constant + 3 * head,
            padded};
}

void pool(const HeadRows& rows, const CompositeScoreParams& params) {
    const std::int64_t half = params.poolKernel / 2;
    const std::int64_t count = rows.tokens;
    const bool maximum = params.poolMode == PoolMode::Max;
    const float outside = maximum ? -std::numeric_limits<float>::infinity() : 0.0F;
    std::fill_n(rows.padded, count + params.poolKernel + 15, outside);
    copyFinite(rows.attention, count, rows.padded + half);
    if (maximum) {
        poolMax(rows.padded, count, params.poolKernel, rows.importance);
        return;
    }
    poolSum(rows.padded, count, params.poolKernel, 1.0F / static_cast<float>(params.poolKernel),
            rows.importance);
    if (params.poolMode == PoolMode::AveragePadded) {
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) { // the ends divide by what is really covered
        const std::int64_t covered =
            std::min(count, i + half + 1) - std::max<std::int64_t>(0, i - half);
        if (covered == params.poolKernel && i + half + 1 < count) {
            i = std::max(i, count - half - 1); // skip the inside
            continue;
        }
        rows.importance[i] *= static_cast<float>(params.poolKernel) / static_cast<float>(covered);
    }
}

/// Adds minmax(|v|) rescaled to the mean of the pooled attention; uses `score` as scratch.
void addValueNorm(const HeadRows& rows) {
    const Range norms = finiteRange(rows.valueNorm, rows.tokens);
    rows.constant[2] = valueNormIsConstant(norms);
    if (rows.constant[2] != 0) {
        return;
    }
    rescaleRow(rows.valueNorm, rows.tokens, norms.low, norms.high - norms.low, rows.score);
    const double ratio = sumOf(rows.importance, rows.tokens) / sumOf(rows.score, rows.tokens);
    mixRows(1.0F, rows.importance, static_cast<float>(ratio), rows.score, rows.tokens,
            rows.importance);
}

/// minmax(-c) and minmax(e).
void measureDiversity(const HeadRows& rows, double meanSquaredNorm) {
    const Range cosines = finiteRange(rows.cosine, rows.tokens);
    const Range lengths = finiteRange(rows.euclid, rows.tokens);
    rows.constant[0] = cosineIsConstant(cosines);
    rows.constant[1] = euclidIsConstant(lengths, meanSquaredNorm);
    if (rows.constant[0] != 0) {
        std::fill_n(rows.byCosine, rows.tokens, 0.0F);
    } else {
        rescaleRow(rows.cosine, rows.tokens, cosines.high, cosines.low - cosines.high,
                   rows.byCosine);
    }
    if (rows.constant[1] != 0) {
        std::fill_n(rows.byEuclid, rows.tokens, 0.0F);
    } else {
        rescaleRow(rows.euclid, rows.tokens, lengths.low, lengths.high - lengths.low,
                   rows.byEuclid);
    }
}

void scoreHead(const HeadRows& rows, const CompositeScoreParams& params, double meanSquaredNorm,
               double redundancy) {
    pool(rows, params);
    rows.constant[2] = 0;
    if (params.addValueNorm) {
        addValueNorm(rows);
    }
    measureDiversity(rows, meanSquaredNorm);
    mixRows(params.alpha, rows.byCosine, 1.0F - params.alpha, rows.byEuclid, rows.tokens,
            rows.diversity);
    const double r = usableRedundancy(redundancy);
    const double diversity = sumOf(rows.diversity, rows.tokens);
    const double exchange = diversity > 0 ? sumOf(rows.importance, rows.tokens) / diversity : 0.0;
    mixRows(static_cast<float>(1 - r), rows.importance, static_cast<float>(r * exchange),
            rows.diversity, rows.tokens, rows.score);
}

} // namespace

Status compositeScore(const CompositeScoreInput& input, const CompositeScoreParams& params,
                      const CompositeScoreOutput& output) {
    if (input.tokens == 0) {
        return Status::Ok;
    }
    const std::int64_t padded = input.tokens + params.poolKernel + 15;
    const Scratch<float> scratch(maxThreads() * padded);
    parallelFor(input.kvHeads, 8 * input.kvHeads * input.tokens,
                [&](std::int64_t head, int thread) {
                    scoreHead(rowsOf(input, output, head, scratch.slot(thread, padded)), params,
                              input.meanSquaredNorm[head], input.redundancy[head]);
                });
    return Status::Ok;
}

} // namespace ecokv::kernels::cpu
