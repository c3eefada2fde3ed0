// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "cache_fixture.h"

#include <gtest/gtest.h>

#include <functional>

namespace ecokv::cache {
namespace {

using test::appendRange;

/// Runs `call`, which must throw, and checks that the sentence holds every one of `words`.
void expectSentence(const std::function<void()>& call, const std::vector<std::string>& words) {
    try {
        call();
        FAIL() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Internal);
        EXPECT_EQ(error.message().back(), '.') << error.message();
        for (const std::string& word : words) {
            EXPECT_NE(error.message().find(word), std::string::npos)
                << "'" << word << "' is not in: " << error.message();
        }
    }
}

class KvCacheErrors : public ::testing::Test {
protected:
    KvCacheErrors() { appendRange(cache, 1, 0, 4); }

    KvCache cache{CacheShape{.layers = 2, .kvHeads = 2, .headDim = 4}};
};

TEST_F(KvCacheErrors, refusesPlansThatAreNotAscendingAndLeavesTheLayerAlone) {
    expectSentence(
        [&] {
            cache.apply({LayerId{1}, {{0, 1}, {2, 1}}, true});
        },
        {"layer 1", "row 1", "KV head 1", "after row 2", "ascending"});
    expectSentence([&] { cache.apply({LayerId{1}, {{0, 0}, {1}}, true}); }, {"row 0", "KV head 0"});
    EXPECT_EQ(cache.length(LayerId{1}, HeadId{0}), 4);
}

TEST_F(KvCacheErrors, refusesPlansForRowsOrHeadsThatAreNotThere) {
    expectSentence(
        [&] {
            cache.apply({LayerId{1}, {{0, 4}, {0}}, true});
        },
        {"layer 1", "row 4", "KV head 0", "holds 4 rows"});
    expectSentence(
        [&] {
            cache.apply({LayerId{1}, {{0}}, true});
        },
        {"layer 1", "names 1 KV heads", "has 2"});
    expectSentence([&] { cache.apply({LayerId{1}, {{-1}, {0}}, true}); }, {"row -1"});
}

TEST_F(KvCacheErrors, refusesLayersAndHeadsOutsideTheModel) {
    expectSentence([&] { cache.apply({LayerId{2}, {{0}, {0}}, true}); }, {"Layer 2", "0 to 1"});
    expectSentence([&] { cache.keys(LayerId{-1}, HeadId{0}); }, {"Layer -1"});
    expectSentence([&] { cache.values(LayerId{0}, HeadId{2}); }, {"KV head 2", "0 to 1"});
}

TEST_F(KvCacheErrors, refusesOtherDtypesAndShapes) {
    std::vector<float> data(2 * 1 * 4);
    const auto right = TensorView::contiguous(data.data(), DType::F32, {2, 1, 4});
    const auto half = TensorView::contiguous(data.data(), DType::BF16, {2, 1, 4});
    const auto narrow = TensorView::contiguous(data.data(), DType::F32, {2, 1, 3});
    const std::vector<std::int64_t> position{4};
    expectSentence([&] { cache.append(LayerId{1}, half, right, position); },
                   {"keys of layer 1", "bfloat16", "float32"});
    expectSentence([&] { cache.append(LayerId{1}, right, half, position); },
                   {"values of layer 1", "bfloat16"});
    expectSentence([&] { cache.append(LayerId{1}, narrow, right, position); },
                   {"keys of layer 1", "[2, 1, 3]", "4 dimensions"});
    expectSentence(
        [&] {
            cache.append(LayerId{1}, right, right, std::vector<std::int64_t>{4, 5});
        },
        {"2 positions"});
}

TEST_F(KvCacheErrors, refusesPositionsThatGoBack) {
    std::vector<float> data(2 * 1 * 4);
    const auto row = TensorView::contiguous(data.data(), DType::F32, {2, 1, 4});
    expectSentence([&] { cache.append(LayerId{1}, row, row, std::vector<std::int64_t>{3}); },
                   {"Position 3", "layer 1", "after position 3"});
    cache.apply({LayerId{1}, {{0}, {0}}, true}); // evicted positions were still seen
    expectSentence([&] { cache.append(LayerId{1}, row, row, std::vector<std::int64_t>{2}); },
                   {"Position 2", "after position 3"});
}

TEST_F(KvCacheErrors, refusesOneViewOfRaggedHeads) {
    cache.apply({LayerId{1}, {{0}, {0, 1}}, true});
    expectSentence([&] { cache.layerKeys(LayerId{1}); }, {"layer 1", "different numbers"});
}

TEST_F(KvCacheErrors, refusesEmptyShapesAndForeignCopies) {
    expectSentence([] { KvCache({.layers = 1, .kvHeads = 0, .headDim = 4}); }, {"0 KV heads"});
    KvCache other({.layers = 2, .kvHeads = 1, .headDim = 4});
    expectSentence([&] { other.copyLayer(cache, LayerId{1}); }, {"Layer 1", "2 KV heads"});
}

} // namespace
} // namespace ecokv::cache
