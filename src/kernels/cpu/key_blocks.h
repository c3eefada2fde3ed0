#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: the two passes of key statistics over one block of tokens of one head, vectorised in
// key_blocks.cpp. Sums of 32 rows are fp32, everything above is fp64.

#include "kernels/cpu/rotation_table.h"
#include "kernels/cpu/row_source.h"
#include "kernels/kernel_types.h"

namespace ecokv::kernels::cpu {

/// Rows whose squared norm leaves this range (or is NaN) are measured in fp64 by the scalar path.
constexpr float kSmallestSquare = 1e-30F;
constexpr float kLargestSquare = 1e34F;
constexpr std::int64_t kRowsAtOnce = 32;

struct KeyBlock {
    RowSource rows;
    std::int64_t begin = 0;         ///< first token
    std::int64_t end = 0;           ///< one past the last
    const float* cosines = nullptr; ///< [token, pair] to un-rotate, null: keys as given
    const float* sines = nullptr;   ///< [token, pair]
    std::int64_t pairs = 0;         ///< that turn
    RopeStyle style = RopeStyle::Half;
    float scaling = 1.0F;     ///< |given key| / |un-rotated key|
    bool ownLengths = false;  ///< that quotient differs from key to key; `scaling` is not used
    float* norm = nullptr;    ///< [token] of this head
    float* scratch = nullptr; ///< [kRowsAtOnce, paddedDim(dim)], this thread's
};

/// Sums over a block; vectors [paddedDim(dim)], those of un-rotated keys null for geometry post.
struct BlockSums {
    double* key = nullptr;
    double* unit = nullptr;
    double* turnedKey = nullptr;
    double* turnedUnit = nullptr;
    double norms = 0;
    double squares = 0;
    std::int64_t nonZero = 0;
    double turnedNorms = 0; ///< those of un-rotated keys, with ownLengths only
    double turnedSquares = 0;
};

/// Mean direction and centroid of one head, [paddedDim(dim)] each.
struct HeadCentre {
    const float* direction = nullptr;
    const float* centroid = nullptr;
    const double* directionWide = nullptr;
    const double* centroidWide = nullptr;
};

/// Takes what `block` needs to undo `rotation`, tabulated in `table`; null: nothing is undone.
void setRotation(KeyBlock& block, const Rotation* rotation, const RotationTable& table);
/// First pass: adds the block's sums and writes its norms.
void accumulateBlock(const KeyBlock& block, BlockSums& sums);
/// Second pass: c and e of each token; `cosine`, `euclid` [token] of this head.
void measureBlock(const KeyBlock& block, const HeadCentre& centre, float* cosine, float* euclid);

/// The scalar path for one unusual row: huge, tiny, zero or not finite.
void accumulateUnusualRow(const KeyBlock& block, std::int64_t token, BlockSums& sums);
void measureUnusualRow(const KeyBlock& block, std::int64_t token, const HeadCentre& centre,
                       float* cosine, float* euclid);

} // namespace ecokv::kernels::cpu
