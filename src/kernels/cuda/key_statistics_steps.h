#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The launches of keyStatistics; see steps.h.

#include "kernels/cuda/key_statistics_kernels.h"
#include "kernels/cuda/step_tools.h"
#include "kernels/head_statistics.h"
#include "kernels/key_statistics.h"

#include <algorithm>
#include <vector>

namespace ecokv::kernels::cuda {

inline constexpr int kLargestKeyDim = 1024;

template <class Runtime>
DeviceRotation uploadRotation(Runtime& runtime, const Rotation* rotation, std::int64_t tokens,
                              std::int64_t dim) {
    if (rotation == nullptr) {
        return {nullptr, 0, false, false, 1.0};
    }
    const std::int64_t pairs = rotation->pairsOf(dim);
    const bool ownLengths = rotation->scalesPartOf(dim);
    auto* turns = runtime.template scratch<float>(tokens * pairs * 2);
    TurnTable table{};
    table.tokens = tokens;
    table.pairs = static_cast<int>(pairs);
    table.factor = ownLengths ? 1.0F / rotation->attentionScaling : 1.0F;
    table.frequencies = uploaded(runtime, rotation->inverseFrequencies, pairs);
    if (rotation->axisPositions != nullptr) {
        table.axisPositions = uploaded(runtime, rotation->axisPositions->data(), 3 * tokens);
        table.axes = rotation->axes != nullptr ? uploaded(runtime, rotation->axes, pairs) : nullptr;
    } else {
        table.positions = uploadPositions(runtime, rotation->positions, tokens);
    }
    runtime.launch(tabulateTurns, Grid{blocksFor(tokens * pairs, kStatisticsThreads), 1},
                   kStatisticsThreads, table, turns);
    return {turns, table.pairs, rotation->style == RopeStyle::Interleaved, ownLengths,
            ownLengths ? 1.0 : static_cast<double>(rotation->attentionScaling)};
}

/// Memory of the GPU between the launches.
struct StatisticsScratch {
    double *partial, *totals, *summary; ///< see the kernels
};

template <class Shape, class T, class Runtime>
void launchStatistics(Runtime& runtime, const Rows<T>& keys, const DeviceRotation& rotation,
                      const KeyStatisticsOutput& output, const StatisticsScratch& scratch,
                      std::int64_t kvHeads) {
    const SumLayout layout{keys.dim, Shape::kRotated};
    const auto blocks = static_cast<int>(blocksFor(keys.rows, kTokensPerBlock));
    runtime.launch(sumKeys<Shape, T>, Grid{blocks, kvHeads}, kStatisticsThreads, keys, rotation,
                   blocks, output.norm, scratch.partial);
    runtime.launch(totalSums, Grid{blocksFor(layout.columns(), kTotalColumns), kvHeads},
                   kStatisticsThreads, scratch.partial, blocks, layout, keys.rows, scratch.totals);
    runtime.launch(measureKeys<Shape, T>, Grid{blocks, kvHeads}, kStatisticsThreads, keys, rotation,
                   scratch.totals, output.norm, output.cosine, output.euclid, scratch.summary);
}

/// Calls `use` with the RowShape that fits the keys.
template <bool rotated, class Use> void withRowShape(const TensorView& keys, Use&& use) {
    if (!readableInEights(keys) || keys.shape[2] > 256) {
        use(RowShape<32, 4, false, rotated>{});
    } else if (keys.shape[2] > 128) {
        use(RowShape<32, 1, true, rotated>{});
    } else if (keys.shape[2] > 64) {
        use(RowShape<8, 2, true, rotated>{});
    } else {
        use(RowShape<8, 1, true, rotated>{});
    }
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
    if (dim > kLargestKeyDim) {
        return Status::BadShape;
    }
    const bool rotated = input.rotation != nullptr;
    const std::int64_t columns = SumLayout{static_cast<int>(dim), rotated}.columns();
    const auto rotation = uploadRotation(runtime, input.rotation, tokens, dim);
    const StatisticsScratch scratch{
        runtime.template scratch<double>(kvHeads * blocksFor(tokens, kTokensPerBlock) * columns),
        runtime.template scratch<double>(kvHeads * columns),
        runtime.template scratch<double>(kvHeads * 5)};
    const Status status = withRows(input.keys, [&]<class T>(Rows<T> keys) {
        const auto launch = [&]<class Shape>(Shape) {
            launchStatistics<Shape>(runtime, keys, rotation, output, scratch, kvHeads);
        };
        if (rotated) {
            withRowShape<true>(input.keys, launch);
        } else {
            withRowShape<false>(input.keys, launch);
        }
        return Status::Ok;
    });
    if (status != Status::Ok) {
        return status;
    }
    std::vector<double> sums(static_cast<std::size_t>(kvHeads * 5));
    runtime.download(sums.data(), scratch.summary, kvHeads * 5);
    for (std::int64_t head = 0; head < kvHeads; ++head) {
        const double* of = sums.data() + head * 5;
        output.heads[head] =
            finish({tokens, static_cast<std::int64_t>(of[2]), of[0], of[1], of[3], of[4]});
    }
    return runtime.status();
}

} // namespace ecokv::kernels::cuda
