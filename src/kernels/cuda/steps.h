#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The order of kernel launches of each operation, written against a Runtime that allocates, copies
// and launches: CUDA in the product (cuda_runtime.cuh), the SIMT shim in the tests. So everything
// but the launch syntax itself runs without a GPU.
//
// Runtime: T* scratch<T>(count); void upload(T* to, const T* from, count); void download(T* to,
// const T* from, count); void launch(kernel, Grid, threads, arguments...); Status status().

#include "kernels/compact_rows.h"
#include "kernels/cuda/compact_rows_kernels.h"
#include "kernels/cuda/composite_score_kernels.h"
#include "kernels/cuda/key_statistics_kernels.h"
#include "kernels/cuda/window_importance_kernels.h"
#include "kernels/head_statistics.h"
#include "kernels/key_statistics.h"
#include "kernels/window_importance.h"

#include <algorithm>
#include <vector>

namespace ecokv::kernels::cuda {

struct Grid {
    std::int64_t x = 1, y = 1;
};

inline std::int64_t blocksFor(std::int64_t count, std::int64_t perBlock) {
    return (count + perBlock - 1) / perBlock;
}

template <class T> Rows<T> rowsOf(const TensorView& tensor) {
    return {tensor.as<const T>(), tensor.strides[0], tensor.strides[1], tensor.shape[1],
            static_cast<int>(tensor.shape[2])};
}

/// Calls `use` with the rows of `tensor` in its element type.
template <class Use> Status withRows(const TensorView& tensor, Use&& use) {
    switch (tensor.dtype) {
    case DType::F32:
        return use(rowsOf<float>(tensor));
    case DType::BF16:
        return use(rowsOf<Bf16>(tensor));
    case DType::F16:
        return use(rowsOf<F16>(tensor));
    default:
        return Status::UnsupportedDType;
    }
}

template <class T, class Runtime>
const T* uploaded(Runtime& runtime, const T* values, std::int64_t count) {
    T* copy = runtime.template scratch<T>(count);
    runtime.upload(copy, values, count);
    return copy;
}

template <class Runtime>
DeviceRotation uploadRotation(Runtime& runtime, const Rotation* rotation, std::int64_t tokens,
                              std::int64_t dim) {
    if (rotation == nullptr) {
        return {nullptr, nullptr, false, 1.0};
    }
    return {uploaded(runtime, rotation->positions, tokens),
            uploaded(runtime, rotation->inverseFrequencies, dim / 2),
            rotation->style == RopeStyle::Interleaved,
            static_cast<double>(rotation->attentionScaling)};
}

template <class Runtime>
Status keyStatisticsSteps(Runtime& runtime, const KeyStatisticsInput& input,
                          const KeyStatisticsOutput& output) {
    const std::int64_t kvHeads = input.keys.shape[0];
    const std::int64_t tokens = input.keys.shape[1];
    const std::int64_t dim = input.keys.shape[2];
    if (kvHeads == 0 || tokens == 0) {
        std::fill_n(output.heads, kvHeads, HeadStatistics{});
        return Status::Ok;
    }
    const auto rotation = uploadRotation(runtime, input.rotation, tokens, dim);
    const int blocks = static_cast<int>(blocksFor(tokens, kTokensPerBlock));
    const int columns = sumColumns(static_cast<int>(dim));
    auto* partial = runtime.template scratch<double>(kvHeads * blocks * columns);
    auto* totals = runtime.template scratch<double>(kvHeads * columns);
    auto* summary = runtime.template scratch<double>(kvHeads * 5);
    const Status status = withRows(input.keys, [&]<class T>(Rows<T> keys) {
        constexpr int kWarps = kStatisticsThreads / simt::kWarp;
        runtime.launch(sumKeys<T>, Grid{blocks, kvHeads}, kStatisticsThreads, keys, rotation,
                       blocks, partial);
        runtime.launch(totalSums, Grid{1, kvHeads}, kStatisticsThreads, partial, blocks,
                       static_cast<int>(dim), tokens, totals, summary);
        runtime.launch(measureKeys<T>, Grid{blocksFor(tokens, kWarps), kvHeads}, kStatisticsThreads,
                       keys, rotation, totals, output.cosine, output.euclid, output.norm);
        return Status::Ok;
    });
    if (status != Status::Ok) {
        return status;
    }
    std::vector<double> sums(static_cast<std::size_t>(kvHeads * 5));
    runtime.download(sums.data(), summary, kvHeads * 5);
    for (std::int64_t head = 0; head < kvHeads; ++head) {
        const double* of = sums.data() + head * 5;
        output.heads[head] =
            finish({tokens, static_cast<std::int64_t>(of[2]), of[0], of[1], of[3], of[4]});
    }
    return runtime.status();
}

template <class Runtime>
Status windowImportanceSteps(Runtime& runtime, const WindowImportanceInput& input,
                             float* importance) {
    const std::int64_t kvHeads = input.keys.shape[0];
    const std::int64_t tokens = input.keys.shape[1];
    if (kvHeads == 0 || tokens == 0) {
        return Status::Ok;
    }
    const std::int64_t group = input.queries.shape[0] / kvHeads;
    const std::int64_t rows = group * input.queries.shape[1];
    const auto* keyPositions = uploaded(runtime, input.keyPositions, tokens);
    const auto* rowPositions = uploaded(runtime, input.queryPositions, input.queries.shape[1]);
    auto* logits = runtime.template scratch<float>(kvHeads * rows * tokens);
    auto* softmax = runtime.template scratch<double>(kvHeads * rows * 2);
    const auto scale = static_cast<double>(input.scale);
    Status status = withRows(input.queries, [&]<class Q>(Rows<Q> queries) {
        const Window<Q> window{queries, rowPositions, static_cast<int>(group)};
        return withRows(input.keys, [&]<class K>(Rows<K> keys) {
            constexpr int kWarps = kImportanceThreads / simt::kWarp;
            runtime.launch(windowLogits<Q, K>, Grid{blocksFor(tokens, kWarps), kvHeads},
                           kImportanceThreads, window, keys, keyPositions, scale, logits);
            return Status::Ok;
        });
    });
    if (status != Status::Ok) {
        return status;
    }
    if (rows > 0) {
        runtime.launch(softmaxRows, Grid{rows, kvHeads}, kImportanceThreads, logits, rows, tokens,
                       softmax);
    }
    runtime.launch(meanImportance, Grid{blocksFor(tokens, kImportanceThreads), kvHeads},
                   kImportanceThreads, logits, softmax, rows, tokens, importance);
    return runtime.status();
}

template <class Runtime>
Status compositeScoreSteps(Runtime& runtime, const CompositeScoreInput& input,
                           const CompositeScoreParams& params, const CompositeScoreOutput& output) {
    const std::int64_t kvHeads = input.kvHeads;
    if (kvHeads == 0 || input.tokens == 0) {
        return Status::Ok;
    }
    auto* constant = runtime.template scratch<std::uint8_t>(kvHeads * 3);
    const ScoreArguments arguments{input.attention,
                                   input.cosine,
                                   input.euclid,
                                   params.addValueNorm ? input.valueNorm : nullptr,
                                   uploaded(runtime, input.redundancy, kvHeads),
                                   uploaded(runtime, input.meanSquaredNorm, kvHeads),
                                   output.importance,
                                   output.diversityCosine,
                                   output.diversityEuclid,
                                   output.diversity,
                                   output.score,
                                   constant,
                                   input.tokens,
                                   input.rowStride,
                                   params.poolKernel,
                                   params.poolMode,
                                   static_cast<double>(params.alpha)};
    runtime.launch(scoreHeads, Grid{1, kvHeads}, kScoreThreads, arguments);
    runtime.download(output.constant, constant, kvHeads * 3);
    return runtime.status();
}

template <class Runtime>
Status compactRowsSteps(Runtime& runtime, const TensorView& rows, const std::int32_t* kept,
                        std::int64_t count) {
    const auto bytes = static_cast<std::int64_t>(dtypeSize(rows.dtype));
    if (bytes % 2 != 0) {
        return Status::UnsupportedDType;
    }
    const std::int64_t words = rows.shape[1] * bytes / 2;
    if (count == 0 || words == 0) {
        return Status::Ok;
    }
    const std::int64_t stride = rows.strides[0] * bytes / 2;
    auto* data = rows.as<std::uint16_t>();
    auto* gathered = runtime.template scratch<std::uint16_t>(count * words);
    const std::int32_t* nothing = nullptr;
    runtime.launch(copyRows, Grid{count, 1}, kCopyThreads, data, stride,
                   uploaded(runtime, kept, count), gathered, words, words);
    runtime.launch(copyRows, Grid{count, 1}, kCopyThreads, gathered, words, nothing, data, stride,
                   words);
    return runtime.status();
}

} // namespace ecokv::kernels::cuda
