// SPDX-License-Identifier: GPL-3.0-or-later
// Ranges measured one after another with shared sums against each range measured alone.
#include "kernels/key_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace ecokv::kernels {

namespace {

constexpr std::int64_t kHeads = 3, kTokens = 1600, kDim = 20;

std::vector<float> someKeys() {
    std::vector<float> keys(static_cast<std::size_t>(kHeads * kTokens * kDim));
    for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i] = std::sin(0.37F * static_cast<float>(i)) + 0.2F * static_cast<float>(i % 7);
    }
    keys[5 * kDim] = std::nanf("");                   // a damaged row
    std::fill_n(keys.begin() + 9 * kDim, kDim, 0.0F); // a zero key
    return keys;
}

struct Result {
    std::vector<float> cosine, euclid, norm;
    std::vector<HeadStatistics> heads;

    explicit Result(std::int64_t tokens)
        : cosine(static_cast<std::size_t>(kHeads * tokens)), euclid(cosine), norm(cosine),
          heads(kHeads) {}
    KeyStatisticsOutput output() {
        return {cosine.data(), euclid.data(), norm.data(), heads.data()};
    }
};

bool same(const Result& a, const Result& b) {
    const auto equal = [](const auto& x, const auto& y) {
        return x.size() == y.size() &&
               std::memcmp(x.data(), y.data(), x.size() * sizeof(x[0])) == 0;
    };
    return equal(a.cosine, b.cosine) && equal(a.euclid, b.euclid) && equal(a.norm, b.norm) &&
           equal(a.heads, b.heads);
}

} // namespace

TEST(KeySums, giveTheSameBitsForEveryEndOfTheRange) {
    std::vector<float> keys = someKeys();
    const TensorView all = TensorView::contiguous(keys.data(), DType::F32, {kHeads, kTokens, kDim});
    std::vector<float> frequencies(kDim / 2, 0.01F);
    std::vector<std::int64_t> positions(kTokens);
    for (std::size_t i = 0; i < positions.size(); ++i) {
        positions[i] = static_cast<std::int64_t>(i);
    }
    const Rotation rotation{RopeStyle::Half, frequencies.data(), positions.data(), 1.0F};
    for (const Rotation* turned : {static_cast<const Rotation*>(nullptr), &rotation}) {
        KeySums sums(kHeads, kTokens, kDim, turned != nullptr);
        for (const std::int64_t end : {1570, 1590, 600, 511, 512, 1024, 1600, 3}) {
            const KeyStatisticsInput input{all.slice(1, 0, end), turned};
            Result shared(end), alone(end);
            ASSERT_EQ(keyStatistics(input, shared.output(), sums), Status::Ok);
            ASSERT_EQ(keyStatistics(input, alone.output(), Backend::Cpu), Status::Ok);
            EXPECT_TRUE(same(shared, alone)) << end << (turned != nullptr ? " pre" : " post");
        }
        EXPECT_EQ(sums.blocks(), 3);
    }
}

TEST(KeySums, madeForOtherKeysAreRefused) {
    std::vector<float> keys = someKeys();
    const TensorView all = TensorView::contiguous(keys.data(), DType::F32, {kHeads, kTokens, kDim});
    Result result(kTokens);
    KeySums fewerHeads(kHeads - 1, kTokens, kDim, false), tooShort(kHeads, 600, kDim, false),
        otherDim(kHeads, kTokens, 40, false), turned(kHeads, kTokens, kDim, true);
    for (KeySums* sums : {&fewerHeads, &tooShort, &otherDim, &turned}) {
        EXPECT_EQ(keyStatistics({all, nullptr}, result.output(), *sums), Status::BadShape);
    }
}

} // namespace ecokv::kernels
