#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The one launch of compactHeads; see steps.h.

#include "kernels/compact_rows.h"
#include "kernels/cuda/compact_rows_kernels.h"
#include "kernels/cuda/step_tools.h"

#include <algorithm>
#include <vector>

namespace ecokv::kernels::cuda {

/// What the GPU needs to know of all heads, made on the host.
struct HostMoves {
    std::vector<HeadMove> heads;
    std::vector<BlockMove> blocks;
    std::vector<std::int32_t> kept;
};

/// Row j is read by the block of j and overwritten by the block of the kept row it is.
inline void planBlocks(std::span<const std::int32_t> kept, std::int64_t rowsPerBlock, int head,
                       std::vector<BlockMove>& blocks) {
    const auto firstBlock = static_cast<int>(blocks.size());
    const auto count = static_cast<std::int64_t>(kept.size());
    std::int64_t reader = 0;
    for (std::int64_t first = 0; first < count; first += rowsPerBlock) {
        const auto own = static_cast<int>(blocks.size());
        while (reader < count && kept[static_cast<std::size_t>(reader)] < first) {
            ++reader;
        }
        std::int64_t end = reader;
        while (end < count && kept[static_cast<std::size_t>(end)] < first + rowsPerBlock) {
            ++end;
        }
        const auto from = firstBlock + static_cast<int>(reader / rowsPerBlock);
        const auto to = firstBlock + static_cast<int>(blocksFor(end, rowsPerBlock));
        blocks.push_back({head, std::min(from, own), std::min(to, own)});
    }
}

inline HostMoves planMoves(std::span<const RowsToCompact> heads, std::int64_t rowsPerBlock,
                           std::int64_t wordBytes) {
    HostMoves moves;
    for (const RowsToCompact& rows : heads) {
        const auto bytes = static_cast<std::int64_t>(dtypeSize(rows.rows.dtype));
        const auto head = static_cast<int>(moves.heads.size());
        moves.heads.push_back({rows.rows.data, rows.rows.strides[0] * bytes / wordBytes,
                               static_cast<std::int64_t>(rows.kept.size()),
                               static_cast<std::int64_t>(moves.kept.size()),
                               static_cast<int>(moves.blocks.size())});
        planBlocks(rows.kept, rowsPerBlock, head, moves.blocks);
        moves.kept.insert(moves.kept.end(), rows.kept.begin(), rows.kept.end());
    }
    return moves;
}

template <class Word, class Runtime>
Status launchMoves(Runtime& runtime, std::span<const RowsToCompact> heads) {
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Word));
    const TensorView& rows = heads.front().rows;
    const std::int64_t words =
        rows.shape[1] * static_cast<std::int64_t>(dtypeSize(rows.dtype)) / kBytes;
    const std::int64_t rowsPerBlock = words > 0 ? kMoveThreads * kMoveWords / words : 0;
    if (rowsPerBlock == 0) {
        return words == 0 ? Status::Ok : Status::BadShape;
    }
    const HostMoves moves = planMoves(heads, rowsPerBlock, kBytes);
    const auto blocks = static_cast<std::int64_t>(moves.blocks.size());
    if (blocks == 0) {
        return Status::Ok;
    }
    const std::vector<int> zeros(static_cast<std::size_t>(blocks + 1), 0);
    int* flags = runtime.template scratch<int>(blocks + 1);
    runtime.upload(flags, zeros.data(), blocks + 1);
    const auto count = static_cast<std::int64_t>(moves.kept.size());
    const MovePlan plan{
        uploaded(runtime, moves.heads.data(), static_cast<std::int64_t>(moves.heads.size())),
        uploaded(runtime, moves.blocks.data(), blocks),
        uploaded(runtime, moves.kept.data(), count),
        flags,
        static_cast<int>(blocks),
        static_cast<int>(rowsPerBlock),
        static_cast<int>(words)};
    runtime.launch(moveRows<Word>, Grid{blocks, 1}, kMoveThreads, plan);
    return runtime.status();
}

/// Whether the rows of all heads consist of whole, aligned words of `bytes` bytes.
inline bool madeOfWords(std::span<const RowsToCompact> heads, std::int64_t bytes) {
    return std::ranges::all_of(heads, [bytes](const RowsToCompact& head) {
        const auto size = static_cast<std::int64_t>(dtypeSize(head.rows.dtype));
        const auto address = reinterpret_cast<std::uintptr_t>(head.rows.data);
        return address % static_cast<std::uintptr_t>(bytes) == 0 &&
               head.rows.shape[1] * size % bytes == 0 && head.rows.strides[0] * size % bytes == 0;
    });
}

template <class Runtime>
Status compactHeadsSteps(Runtime& runtime, std::span<const RowsToCompact> heads) {
    if (heads.empty()) {
        return Status::Ok;
    }
    if (madeOfWords(heads, sizeof(Words))) {
        return launchMoves<Words>(runtime, heads);
    }
    if (madeOfWords(heads, sizeof(std::uint32_t))) {
        return launchMoves<std::uint32_t>(runtime, heads);
    }
    if (madeOfWords(heads, sizeof(std::uint16_t))) {
        return launchMoves<std::uint16_t>(runtime, heads);
    }
    return launchMoves<std::uint8_t>(runtime, heads);
}

} // namespace ecokv::kernels::cuda
