#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Attention of the decoder with grouped queries, scale 1/sqrt(dim). Who sees whom follows from true
// positions alone, never from the numbers of rows: kept keys have gaps (field case F019).

#include "cache/kv_cache.h"
#include "model/aten.h"

#include <cstdint>
#include <span>

namespace ecokv::model {

/// Positions first to last, both included.
struct PositionRun {
    std::int64_t first = 0, last = 0;
};

/// Query rows that stand at known positions. A row at position q sees keys at positions p <= q and,
/// where `window` > 0, p > q - window (as transformers defines sliding layers). It also sees the
/// whole of its run.
struct QueryRows {
    const at::Tensor& queries;               ///< [head, row, dim]
    std::span<const std::int64_t> positions; ///< [row], strictly ascending
    std::int64_t window = 0;                 ///< 0 = all earlier keys
    /// [row] the tokens of its picture, in one piece, or itself alone; empty = itself alone.
    std::span<const PositionRun> runs = {};

    /// Both ascend with the row.
    std::int64_t oldestSeen(std::size_t row) const;
    std::int64_t newestSeen(std::size_t row) const;
    /// Rows [begin, begin + count), with their queries.
    QueryRows part(const at::Tensor& partQueries, std::int64_t begin, std::int64_t count) const;
};

/// queries [head, token, dim], keys and values [kvHead, token, dim] to [token, head * dim].
at::Tensor attendCausal(const at::Tensor& queries, const at::Tensor& keys,
                        const at::Tensor& values);

/// Keys and values [kvHead, n, dim], n at least 1, at `keyPositions` [n], the same for every head,
/// strictly ascending. Every row must see at least one key. To [row, head * dim].
at::Tensor attendByPosition(const QueryRows& rows, const at::Tensor& keys, const at::Tensor& values,
                            std::span<const std::int64_t> keyPositions);

/// attendByPosition against the kept rows of a layer: in one call where all heads keep equally
/// many, head by head where they are ragged (nothing is padded to the longest).
at::Tensor attendCache(const QueryRows& rows, const cache::KvCache& cache, LayerId layer);

} // namespace ecokv::model
