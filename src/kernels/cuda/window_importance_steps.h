#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The launches of windowImportance; see steps.h.

#include "kernels/cuda/step_tools.h"
#include "kernels/cuda/window_importance_kernels.h"
#include "kernels/cuda/window_tiles_kernels.h"
#include "kernels/window_importance.h"

#include <type_traits>

namespace ecokv::kernels::cuda {

inline constexpr std::int64_t kLargestTiledDim = 256;
inline constexpr float kLog2E = 1.44269504F;

/// Whether both tensors fit the tensor cores: one half-precision dtype, rows readable in eights.
inline bool fitsTiles(const WindowImportanceInput& input) {
    const DType dtype = input.keys.dtype;
    return (dtype == DType::BF16 || dtype == DType::F16) && input.queries.dtype == dtype &&
           input.keys.shape[2] <= kLargestTiledDim && readableInEights(input.keys) &&
           readableInEights(input.queries) && input.queries.shape[0] * input.queries.shape[1] > 0;
}

template <int chunks, class T, class Runtime>
void launchTiles(Runtime& runtime, TiledWindow<T> input, std::int64_t kvHeads, float* importance) {
    const std::int64_t rows = input.window.count();
    input.rowWarps = rows > 2 * kRowsPerWarp ? 4 : rows > kRowsPerWarp ? 2 : 1;
    const auto blocks = static_cast<int>(blocksFor(input.keys.rows, kKeysPerBlock));
    const std::int64_t groups = blocksFor(rows, input.rowsPerBlock());
    auto* softmax = runtime.template scratch<float>(kvHeads * rows * input.parts(blocks) * 2);
    auto* joined = runtime.template scratch<float>(kvHeads * rows * 2);
    runtime.launch(windowPeaks<chunks, T>, Grid{blocks * groups, kvHeads}, kTileThreads, input,
                   blocks, softmax);
    runtime.launch(joinSoftmax, Grid{blocksFor(rows, kTileWarps), kvHeads}, kTileThreads, softmax,
                   rows, input.parts(blocks), joined);
    runtime.launch(tiledImportance<chunks, T>, Grid{blocks, kvHeads}, kTileThreads, input, joined,
                   importance);
}

template <class T, class Runtime>
void launchTilesOfDim(Runtime& runtime, const TiledWindow<T>& input, std::int64_t kvHeads,
                      float* importance) {
    if (input.keys.dim <= 64) {
        launchTiles<2>(runtime, input, kvHeads, importance);
    } else if (input.keys.dim <= 128) {
        launchTiles<4>(runtime, input, kvHeads, importance);
    } else {
        launchTiles<8>(runtime, input, kvHeads, importance);
    }
}

/// Any rows: one warp per key, logits stored.
template <class Q, class K, class Runtime>
void launchRows(Runtime& runtime, const Window<Q>& window, const Rows<K>& keys,
                const Positions& keyPositions, double scale, std::int64_t kvHeads,
                float* importance) {
    const std::int64_t rows = window.count();
    auto* logits = runtime.template scratch<float>(kvHeads * rows * keys.rows);
    auto* softmax = runtime.template scratch<double>(kvHeads * rows * 2);
    constexpr int kWarps = kImportanceThreads / simt::kWarp;
    if (rows > 0) {
        runtime.launch(windowLogits<Q, K>, Grid{blocksFor(keys.rows, kWarps), kvHeads},
                       kImportanceThreads, window, keys, keyPositions, scale, logits);
        runtime.launch(softmaxRows, Grid{rows, kvHeads}, kImportanceThreads, logits, rows,
                       keys.rows, softmax);
    }
    runtime.launch(meanImportance, Grid{blocksFor(keys.rows, kImportanceThreads), kvHeads},
                   kImportanceThreads, logits, softmax, rows, keys.rows, importance);
}

template <class Runtime>
Status windowImportanceSteps(Runtime& runtime, const WindowImportanceInput& input,
                             float* importance) {
    const std::int64_t kvHeads = input.keys.shape[0];
    const std::int64_t tokens = input.keys.shape[1];
    if (kvHeads == 0 || tokens == 0) {
        return Status::Ok;
    }
    const auto group = static_cast<int>(input.queries.shape[0] / kvHeads);
    const Positions keyPositions = uploadPositions(runtime, input.keyPositions, tokens);
    const Positions rowPositions =
        uploadPositions(runtime, input.queryPositions, input.queries.shape[1]);
    const bool tiled = fitsTiles(input);
    const Status status = withRows(input.queries, [&]<class Q>(Rows<Q> queries) {
        const Window<Q> window{queries, rowPositions, group};
        return withRows(input.keys, [&]<class K>(Rows<K> keys) {
            if constexpr (std::is_same_v<Q, K> && sizeof(K) == 2) {
                if (tiled) {
                    launchTilesOfDim(
                        runtime,
                        TiledWindow<K>{window, keys, keyPositions, input.scale * kLog2E, 0},
                        kvHeads, importance);
                    return Status::Ok;
                }
            }
            launchRows(runtime, window, keys, keyPositions, static_cast<double>(input.scale),
                       kvHeads, importance);
            return Status::Ok;
        });
    });
    return status == Status::Ok ? runtime.status() : status;
}

} // namespace ecokv::kernels::cuda
