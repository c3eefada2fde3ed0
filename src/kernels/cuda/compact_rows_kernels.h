#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Device side of compactRows and compactHeads: rows move to the front in place, each byte read and
// written once. A block first reads its rows, then waits until the blocks that read from where it
// will write have read theirs.

#include "kernels/cuda/element.h"

namespace ecokv::kernels::cuda {

inline constexpr int kMoveThreads = 256;
inline constexpr int kMoveWords = 4; ///< per thread

/// The rows of one head; strides in words of the kernel.
struct HeadMove {
    void* data;
    std::int64_t stride, count;
    std::int64_t firstKept; ///< where its rows begin in `kept`
    int firstBlock;
};

/// A block's head, and the blocks [waitFrom, waitTo) it waits for, all of them before it.
struct BlockMove {
    int head, waitFrom, waitTo;
};

/// Device memory.
struct MovePlan {
    const HeadMove* heads;
    const BlockMove* blocks;
    const std::int32_t* kept; ///< ascending per head
    int* flags;               ///< [block + 1], zero: blocks that have read, then the next number
    int blockCount, rowsPerBlock, wordsPerRow;
};

/// Grid (blocks of all heads, 1).
template <class Word> ECOKV_GLOBAL void moveRows(MovePlan plan) {
    ECOKV_SHARED int number;
    if (simt::thread() == 0) {
        // in the order in which blocks start: those waited for have started
        number = simt::take(plan.flags + plan.blockCount);
    }
    simt::sync();
    const int block = number;
    const BlockMove& own = plan.blocks[block];
    const HeadMove& head = plan.heads[own.head];
    auto* data = static_cast<Word*>(head.data);
    const std::int64_t first =
        static_cast<std::int64_t>(block - head.firstBlock) * plan.rowsPerBlock;
    const std::int64_t left = head.count - first;
    const int words =
        static_cast<int>(left < plan.rowsPerBlock ? left : plan.rowsPerBlock) * plan.wordsPerRow;
    const std::int32_t* kept = plan.kept + head.firstKept + first;
    Word held[kMoveWords];
    ECOKV_UNROLL
    for (int i = 0; i < kMoveWords; ++i) {
        const int at = i * kMoveThreads + simt::thread();
        if (at < words) {
            held[i] = data[kept[at / plan.wordsPerRow] * head.stride + at % plan.wordsPerRow];
        }
    }
    simt::sync();
    if (simt::thread() == 0) {
        simt::publish(plan.flags + block);
    }
    for (int other = own.waitFrom + simt::thread(); other < own.waitTo; other += kMoveThreads) {
        simt::await(plan.flags + other);
    }
    simt::sync();
    ECOKV_UNROLL
    for (int i = 0; i < kMoveWords; ++i) {
        const int at = i * kMoveThreads + simt::thread();
        if (at < words) {
            data[(first + at / plan.wordsPerRow) * head.stride + at % plan.wordsPerRow] = held[i];
        }
    }
}

} // namespace ecokv::kernels::cuda
