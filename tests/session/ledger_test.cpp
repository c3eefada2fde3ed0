// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/ledger_book.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace ecokv::session {

// F038: 8 layers, 4 KV heads (of 32 query heads), dim 64, 1000 tokens in bf16.
TEST(Ledger, fullBytesCountKvHeadsNotQueryHeads) {
    EXPECT_EQ(fullCacheBytes({8, 4, 64, DType::BF16, {}}, 1000), 8'192'000U);
}

// F015: what is reported is what KV heads store: 2 (K and V) x layers x heads x kept x dim x size.
TEST(Ledger, reportsTheRowsThatAreReallyThere) {
    const cache::CacheShape shape{1, 2, 4, DType::F32, {}};
    cache::KvCache cache(shape);
    std::vector<float> data(2 * 12 * 4, 1.0F);
    const auto view = TensorView::contiguous(data.data(), DType::F32, {2, 12, 4});
    std::vector<std::int64_t> positions(12);
    std::iota(positions.begin(), positions.end(), 0);
    cache.append(LayerId{0}, view, view, positions);
    cache.apply({LayerId{0}, {{0, 5, 11}, {1, 2, 11}}, true});

    policy::ResolvedPolicy policy;
    policy.tokens = 12;
    policy.recent = 1;
    policy.sink = 0;
    policy.compresses = true;
    const Ledger ledger = makeLedger(cache, policy);
    EXPECT_EQ(ledger.keptTokens, (std::vector<std::vector<std::int64_t>>{{3, 3}}));
    EXPECT_EQ(ledger.keptBytes, 2U * 1 * 2 * 3 * 4 * 4);
    EXPECT_EQ(ledger.fullBytes, 2U * 1 * 2 * 12 * 4 * 4);
    EXPECT_EQ(ledger.protectedTokens, 1);
    EXPECT_EQ(ledger.promptTokens, 12);
}

TEST(Ledger, nothingIsProtectedWhereNothingIsEvicted) {
    cache::KvCache cache({1, 1, 4, DType::F32, {}});
    policy::ResolvedPolicy policy;
    policy.tokens = 40;
    policy.recent = 32;
    EXPECT_EQ(makeLedger(cache, policy).protectedTokens, 0);
}

/// F034: 2 layers of which the first slides. Its 12 rows are stored and shown, and are neither part
/// of what was kept nor of what it is compared with.
TEST(Ledger, slidingLayersAreShownButAreNoCompression) {
    const cache::CacheShape shape{2, 1, 4, DType::F32, {}};
    cache::KvCache cache(shape);
    std::vector<float> data(12 * 4, 1.0F);
    const auto view = TensorView::contiguous(data.data(), DType::F32, {1, 12, 4});
    std::vector<std::int64_t> positions(12);
    std::iota(positions.begin(), positions.end(), 0);
    cache.append(LayerId{0}, view, view, positions);
    cache.append(LayerId{1}, view, view, positions);
    cache.apply({LayerId{1}, {{0, 5, 11}}, true});

    policy::ResolvedPolicy policy;
    policy.tokens = 12;
    policy.compresses = true;
    policy.shape = {2, 1, "m", {8, 0}};
    const Ledger ledger = makeLedger(cache, policy);
    EXPECT_EQ(ledger.keptBytes, 2U * 3 * 4 * 4);
    EXPECT_EQ(ledger.fullBytes, 2U * 12 * 4 * 4);
    EXPECT_EQ(ledger.layerBytes, (std::vector<std::uint64_t>{2U * 12 * 4 * 4, 2U * 3 * 4 * 4}));
    EXPECT_EQ(ledger.layerBytes[0] + ledger.layerBytes[1], cache.usedBytes());
    EXPECT_EQ(ledger.keptTokens, (std::vector<std::vector<std::int64_t>>{{12}, {3}}));
}

/// Layer 0 is linear: it holds no row, and the full cache would hold none either.
TEST(Ledger, layersWithoutACacheCountNothing) {
    cache::KvCache cache({2, 1, 4, DType::F32, {}});
    std::vector<float> data(12 * 4, 1.0F);
    const auto view = TensorView::contiguous(data.data(), DType::F32, {1, 12, 4});
    std::vector<std::int64_t> positions(12);
    std::iota(positions.begin(), positions.end(), 0);
    cache.append(LayerId{1}, view, view, positions);
    cache.apply({LayerId{1}, {{0, 5, 11}}, true});

    policy::ResolvedPolicy policy;
    policy.tokens = 12;
    policy.compresses = true;
    policy.shape = {2, 1, "m", {}, {1, 0}};
    const Ledger ledger = makeLedger(cache, policy);
    EXPECT_EQ(ledger.keptBytes, 2U * 3 * 4 * 4);
    EXPECT_EQ(ledger.fullBytes, 2U * 12 * 4 * 4);
    EXPECT_EQ(ledger.keptTokens, (std::vector<std::vector<std::int64_t>>{{0}, {3}}));
    EXPECT_EQ(ledger.linearLayers, (std::vector<std::uint8_t>{1, 0}));
}

} // namespace ecokv::session
