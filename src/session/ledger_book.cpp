// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/ledger_book.h"

namespace ecokv::session {

std::uint64_t fullCacheBytes(const cache::CacheShape& shape, std::int64_t tokens) {
    return 2ULL * static_cast<std::uint64_t>(shape.layers) *
           static_cast<std::uint64_t>(shape.kvHeads) * static_cast<std::uint64_t>(tokens) *
           static_cast<std::uint64_t>(shape.headDim) * dtypeSize(shape.dtype);
}

std::uint64_t cacheBytes(const cache::CacheShape& shape, const LayerKinds& kinds, std::int64_t kept,
                         std::int64_t all) {
    cache::CacheShape one = shape;
    one.layers = 1;
    std::uint64_t bytes = 0;
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
        if (!kinds.isLinear(layer)) {
            bytes += fullCacheBytes(one, kinds.isEvicted(layer) ? kept : all);
        }
    }
    return bytes;
}

Ledger makeLedger(const cache::KvCache& cache, const policy::ResolvedPolicy& policy) {
    const cache::CacheShape& shape = cache.shape();
    Ledger ledger;
    ledger.promptTokens = policy.tokens;
    ledger.protectedTokens = policy.compresses ? policy.sink + policy.recent : 0;
    ledger.slidingWindows = policy.shape.slidingWindows;
    ledger.linearLayers = policy.shape.linearLayers;
    const std::uint64_t rowBytes =
        2ULL * static_cast<std::uint64_t>(shape.headDim) * dtypeSize(shape.dtype); // key and value
    const std::vector<bool> counted = policy.shape.kinds().counted(shape.layers);
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
        auto& row = ledger.keptTokens.emplace_back();
        std::uint64_t rows = 0;
        for (std::int32_t head = 0; head < shape.kvHeads; ++head) {
            row.push_back(cache.length(LayerId{layer}, HeadId{head}));
            rows += static_cast<std::uint64_t>(row.back());
        }
        ledger.layerBytes.push_back(rows * rowBytes);
        if (counted[static_cast<std::size_t>(layer)]) {
            ledger.keptBytes += rows * rowBytes;
            ledger.fullBytes +=
                fullCacheBytes(shape, policy.tokens) / static_cast<std::uint64_t>(shape.layers);
        }
    }
    return ledger;
}

} // namespace ecokv::session
