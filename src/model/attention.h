#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Attention of the decoder with grouped queries: causal over a whole layer in prefill, and of one
// query row against what each head of a cache kept in decode. Scale 1/sqrt(dim).

#include "cache/kv_cache.h"
#include "model/aten.h"

namespace ecokv::model {

/// queries [head, token, dim], keys and values [kvHead, token, dim] to [token, head * dim].
at::Tensor attendCausal(const at::Tensor& queries, const at::Tensor& keys,
                        const at::Tensor& values);

/// One row that sees every key: queries [head, 1, dim], keys and values [kvHead, n, dim] to
/// [1, head * dim].
at::Tensor attendAll(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values);

/// attendAll against the kept rows of a layer, which may be ragged across heads. Every kept key is
/// older than the query, so no mask is needed (field case F019).
at::Tensor attendCache(const at::Tensor& queries, const cache::KvCache& cache, LayerId layer);

} // namespace ecokv::model
