// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/key_statistics.h"

#include "kernels/host_tensor.h"
#include "kernels/instruction_sets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ecokv::kernels {

using test::HostTensor;
using test::Shape;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Result {
    std::vector<float> cosine, euclid, norm;
    std::vector<HeadStatistics> heads;
};

Result measure(const HostTensor& keys, Backend backend, const Rotation* rotation = nullptr) {
    const TensorView view = keys.view();
    const auto rows = static_cast<std::size_t>(view.shape[0] * view.shape[1]);
    Result result;
    for (auto* array : {&result.cosine, &result.euclid, &result.norm}) {
        array->assign(rows, -77.0F);
    }
    result.heads.resize(static_cast<std::size_t>(view.shape[0]));
    EXPECT_EQ(keyStatistics({view, rotation},
                            {result.cosine.data(), result.euclid.data(), result.norm.data(),
                             result.heads.data()},
                            backend),
              Status::Ok);
    return result;
}

class KeyStatistics : public testing::TestWithParam<Backend> {};

/// Mean off-diagonal cosine and 1 - E|ki - kj|^2 / (2 m2), pair by pair.
std::pair<double, double> pairwiseRedundancy(const HostTensor& keys, std::int64_t tokens,
                                             std::int64_t dim) {
    const auto at = [&](std::int64_t token, std::int64_t i) {
        return static_cast<double>(keys.get(0, token, i));
    };
    std::vector<double> norms;
    double squares = 0;
    for (std::int64_t a = 0; a < tokens; ++a) {
        double square = 0;
        for (std::int64_t i = 0; i < dim; ++i) {
            square += at(a, i) * at(a, i);
        }
        norms.push_back(std::sqrt(square));
        squares += square;
    }
    double cosines = 0;
    double distances = 0;
    for (std::int64_t a = 0; a < tokens; ++a) {
        for (std::int64_t b = 0; b < tokens; ++b) {
            for (std::int64_t i = 0; i < dim && a != b; ++i) {
                const double product = at(a, i) * at(b, i);
                cosines += product / norms[static_cast<std::size_t>(a)] /
                           norms[static_cast<std::size_t>(b)];
                distances += (at(a, i) - at(b, i)) * (at(a, i) - at(b, i));
            }
        }
    }
    const auto pairs = static_cast<double>(tokens * (tokens - 1));
    const double meanSquare = squares / static_cast<double>(tokens);
    return {cosines / pairs, 1 - distances / pairs / (2 * meanSquare)};
}

} // namespace

TEST_P(KeyStatistics, threeKeysWorkedByHand) {
    HostTensor keys(DType::F32, 1, 3, 2);
    keys.setRow(0, 0, {3, 4});
    keys.setRow(0, 1, {3, 4});
    keys.setRow(0, 2, {0, 5});
    const Result result = measure(keys, GetParam());
    EXPECT_NEAR(result.heads[0].redundancyCosine, (1.0 + 0.8 + 0.8) / 3, 3e-7);
    EXPECT_NEAR(result.heads[0].redundancyEuclid, 1 - (2 * 10.0 / 3) / 50, 3e-7);
    EXPECT_NEAR(result.heads[0].anisotropy, std::sqrt(0.16 + 2.6 * 2.6 / 9), 3e-7);
    EXPECT_NEAR(result.heads[0].meanKeyNorm, 5, 1e-6);
    EXPECT_NEAR(result.heads[0].meanSquaredNorm, 25, 1e-5);
    EXPECT_EQ(result.heads[0].zeroFreeShare, 1);
    EXPECT_NEAR(result.cosine[0], 0.6 * 0.4 + 0.8 * 2.6 / 3, 1e-6);
    EXPECT_NEAR(result.cosine[2], 2.6 / 3, 1e-6);
    EXPECT_NEAR(result.euclid[1], std::sqrt(1 + 1.0 / 9), 1e-6); // centroid (2, 13/3)
    EXPECT_NEAR(result.euclid[2], std::sqrt(4 + 4.0 / 9), 1e-6);
    EXPECT_FLOAT_EQ(result.norm[2], 5);
}

TEST_P(KeyStatistics, closedFormsEqualTheMeansOverPairs) {
    for (const float offset : {0.0F, 0.5F, 4.0F}) { // isotropic heads cancel: M |mu|^2 - 1
        HostTensor keys(DType::BF16, 1, 200, 48);
        keys.fillNormal(7, offset);
        const auto [cosine, euclid] = pairwiseRedundancy(keys, 200, 48);
        const Result result = measure(keys, GetParam());
        EXPECT_NEAR(result.heads[0].redundancyCosine, cosine, 2e-7) << "offset " << offset;
        EXPECT_NEAR(result.heads[0].redundancyEuclid, euclid, 2e-7) << "offset " << offset;
    }
}

TEST_P(KeyStatistics, keepsDistancesExactInRedundantHeads) {
    HostTensor keys(DType::F32, 1, 600, 128);
    std::mt19937 generator(3);
    std::normal_distribution<float> normal;
    keys.fill([&](auto, auto, auto i) {
        return (i % 2 == 0 ? 8.0F : -8.0F) + 0.25F * normal(generator);
    });
    const Result result = measure(keys, GetParam());
    EXPECT_GT(result.heads[0].redundancyEuclid, 0.9985);
    EXPECT_LT(result.heads[0].redundancyEuclid, 0.9995);
    std::vector<double> centroid(128, 0.0);
    for (std::int64_t token = 0; token < 600; ++token) {
        for (std::size_t i = 0; i < 128; ++i) {
            centroid[i] +=
                static_cast<double>(keys.get(0, token, static_cast<std::int64_t>(i))) / 600;
        }
    }
    for (std::int64_t token = 0; token < 600; ++token) {
        double square = 0;
        for (std::size_t i = 0; i < 128; ++i) {
            const double offset =
                static_cast<double>(keys.get(0, token, static_cast<std::int64_t>(i))) - centroid[i];
            square += offset * offset;
        }
        const double exact = std::sqrt(square);
        ASSERT_NEAR(result.euclid[static_cast<std::size_t>(token)], exact, 2e-5 * exact);
    }
}

TEST_P(KeyStatistics, zeroKeysHaveNoDirection) {
    HostTensor keys(DType::F32, 1, 4, 2);
    keys.setRow(0, 0, {1, 0});
    keys.setRow(0, 1, {0, 0});
    keys.setRow(0, 2, {1, 0});
    keys.setRow(0, 3, {0, 2});
    const Result result = measure(keys, GetParam());
    EXPECT_EQ(result.heads[0].zeroFreeShare, 0.75);
    EXPECT_EQ(result.cosine[1], 0.0F);
    EXPECT_NEAR(result.heads[0].redundancyCosine, 2.0 / 12, 1e-7); // one pair of 6 is alike
    EXPECT_NEAR(result.euclid[1], std::sqrt(0.5), 1e-6);           // centroid (0.5, 0.5)
}

TEST_P(KeyStatistics, keysThatAreNotFiniteCountAsZeroKeys) {
    for (const float poison : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
        HostTensor zeroed(DType::BF16, 2, 50, 64);
        zeroed.fillNormal(11, 1.0F);
        zeroed.setRow(1, 20, std::vector<float>(64, 0.0F));
        HostTensor poisoned = zeroed;
        poisoned.set(1, 20, 63, poison);
        const Result wanted = measure(zeroed, GetParam());
        const Result result = measure(poisoned, GetParam());
        EXPECT_EQ(result.cosine, wanted.cosine);
        EXPECT_EQ(result.euclid, wanted.euclid);
        EXPECT_EQ(result.norm, wanted.norm);
        EXPECT_EQ(result.heads[1].redundancyEuclid, wanted.heads[1].redundancyEuclid);
        EXPECT_EQ(result.heads[1].zeroFreeShare, 0.98);
    }
}

TEST_P(KeyStatistics, hugeAndTinyKeysStayFinite) {
    for (const float size : {1e-30F, 1e25F, 3e38F}) {
        HostTensor keys(DType::F32, 1, 2, 4);
        keys.setRow(0, 0, {size, 0, 0, 0});
        keys.setRow(0, 1, {0, size, size, 0});
        const Result result = measure(keys, GetParam());
        EXPECT_EQ(result.heads[0].zeroFreeShare, 1);
        EXPECT_NEAR(result.heads[0].redundancyCosine, 0, 1e-7);
        EXPECT_NEAR(result.cosine[0], 0.5, 1e-6);
        EXPECT_FLOAT_EQ(result.norm[0], size);
        EXPECT_TRUE(std::isfinite(result.norm[1]));
        EXPECT_FLOAT_EQ(result.euclid[0], static_cast<float>(std::sqrt(0.75) * double{size}));
    }
}

TEST_P(KeyStatistics, normsThatTieInBfloat16KeepTheirOrder) { // F014
    HostTensor keys(DType::F32, 1, 3, 1);
    keys.setRow(0, 0, {10.02F});
    keys.setRow(0, 1, {10.01F});
    keys.setRow(0, 2, {10.03F});
    const Result result = measure(keys, GetParam());
    EXPECT_LT(result.norm[1], result.norm[0]);
    EXPECT_LT(result.norm[0], result.norm[2]);
}

TEST_P(KeyStatistics, undoesTheRotationForGeometryOnly) {
    for (const RopeStyle style : {RopeStyle::Half, RopeStyle::Interleaved}) {
        constexpr std::int64_t kTokens = 40;
        const std::vector<float> frequencies{1.0F, 0.25F};
        const std::vector<float> scaled{1.5F * 1, 1.5F * 2, 1.5F * -1, 1.5F * 3};
        std::vector<std::int64_t> positions;
        HostTensor keys(DType::F32, 1, kTokens, 4);
        for (std::int64_t token = 0; token < kTokens; ++token) {
            positions.push_back(7 + 3 * token);
            for (std::int64_t pair = 0; pair < 2; ++pair) { // one key, rotated to every position
                const double angle =
                    static_cast<double>(positions.back()) *
                    static_cast<double>(frequencies[static_cast<std::size_t>(pair)]);
                const std::int64_t x = style == RopeStyle::Half ? pair : 2 * pair;
                const std::int64_t y = style == RopeStyle::Half ? pair + 2 : 2 * pair + 1;
                const double first = static_cast<double>(scaled[static_cast<std::size_t>(x)]);
                const double second = static_cast<double>(scaled[static_cast<std::size_t>(y)]);
                keys.set(0, token, x,
                         static_cast<float>(first * std::cos(angle) - second * std::sin(angle)));
                keys.set(0, token, y,
                         static_cast<float>(second * std::cos(angle) + first * std::sin(angle)));
            }
        }
        const Rotation rotation{style, frequencies.data(), positions.data(), 1.5F};
        const Result post = measure(keys, GetParam());
        const Result pre = measure(keys, GetParam(), &rotation);
        for (std::size_t token = 0; token < kTokens; ++token) {
            EXPECT_NEAR(pre.cosine[token], 1, 1e-6);
            EXPECT_NEAR(pre.euclid[token], 0, 1e-5);
            EXPECT_NEAR(pre.norm[token], 1.5 * std::sqrt(15), 1e-5); // of the key as given
        }
        EXPECT_LT(post.heads[0].redundancyCosine, 0.5);
        EXPECT_EQ(pre.heads[0].redundancyCosine, post.heads[0].redundancyCosine);
        EXPECT_EQ(pre.heads[0].redundancyEuclid, post.heads[0].redundancyEuclid);
    }
}

TEST_P(KeyStatistics, fewerThanTwoTokensAreNotRedundant) {
    HostTensor one(DType::F16, 2, 1, 8);
    one.fillNormal(1, 5.0F);
    const Result single = measure(one, GetParam());
    EXPECT_EQ(single.heads[1].redundancyCosine, 0);
    EXPECT_EQ(single.heads[1].redundancyEuclid, 0);
    EXPECT_NEAR(single.heads[1].anisotropy, 1, 1e-6);
    EXPECT_NEAR(single.cosine[1], 1, 1e-6);
    const Result none = measure(HostTensor(DType::F16, 2, 0, 8), GetParam());
    EXPECT_EQ(none.heads[0].redundancyCosine, 0);
    EXPECT_EQ(none.heads[0].meanKeyNorm, 0);
}

INSTANTIATE_TEST_SUITE_P(Host, KeyStatistics, testing::Values(Backend::Reference, Backend::Cpu),
                         [](const auto& info) {
                             return info.param == Backend::Cpu ? "cpu" : "reference";
                         });

TEST(KeyStatisticsMatrix, cpuAgreesWithTheReference) {
    unsigned seed = 100;
    for (const Shape& shape : test::shapeMatrix()) {
        SCOPED_TRACE(describe(shape));
        HostTensor keys(shape.dtype, 3, shape.tokens, shape.dim, shape.gap);
        keys.fillNormal(++seed, shape.offset);
        const Result wanted = measure(keys, Backend::Reference);
        test::forEachInstructionSet([&](const char* instructionSet) {
            SCOPED_TRACE(instructionSet);
            const Result result = measure(keys, Backend::Cpu);
            for (std::size_t i = 0; i < wanted.cosine.size(); ++i) {
                ASSERT_NEAR(result.cosine[i], wanted.cosine[i], 1e-6)
                    << i; // scalar: one long fp32 sum
                // Relative, but for a single key, which is its own centroid.
                ASSERT_NEAR(result.euclid[i], wanted.euclid[i],
                            5e-6F * wanted.euclid[i] + 1e-6F * wanted.norm[i])
                    << i;
                ASSERT_NEAR(result.norm[i], wanted.norm[i], 5e-7F * wanted.norm[i]) << i;
            }
            for (std::size_t head = 0; head < 3; ++head) {
                const HeadStatistics& a = result.heads[head];
                const HeadStatistics& b = wanted.heads[head];
                ASSERT_NEAR(a.redundancyCosine, b.redundancyCosine, 5e-7);
                ASSERT_NEAR(a.redundancyEuclid, b.redundancyEuclid, 5e-7);
                ASSERT_NEAR(a.anisotropy, b.anisotropy, 5e-7);
                ASSERT_NEAR(a.meanKeyNorm, b.meanKeyNorm, 5e-7 * b.meanKeyNorm);
                ASSERT_NEAR(a.meanSquaredNorm, b.meanSquaredNorm, 1e-6 * b.meanSquaredNorm);
            }
        });
    }
}

TEST(KeyStatisticsMatrix, cpuAgreesWithTheReferenceOnUnrotatedKeys) {
    for (const RopeStyle style : {RopeStyle::Half, RopeStyle::Interleaved}) {
        HostTensor keys(DType::BF16, 2, 777, 80, 16);
        keys.fillNormal(5, 0.7F);
        std::vector<float> frequencies;
        std::vector<std::int64_t> positions;
        for (int i = 0; i < 40; ++i) {
            frequencies.push_back(std::pow(10000.0F, -static_cast<float>(i) / 40));
        }
        for (std::int64_t token = 0; token < 777; ++token) {
            positions.push_back(3 * token);
        }
        const Rotation rotation{style, frequencies.data(), positions.data(), 1.2F};
        const Result wanted = measure(keys, Backend::Reference, &rotation);
        test::forEachInstructionSet([&](const char* instructionSet) {
            SCOPED_TRACE(instructionSet);
            const Result result = measure(keys, Backend::Cpu, &rotation);
            for (std::size_t i = 0; i < wanted.cosine.size(); ++i) {
                ASSERT_NEAR(result.cosine[i], wanted.cosine[i], 1e-6) << i;
                ASSERT_NEAR(result.euclid[i], wanted.euclid[i], 5e-6F * wanted.euclid[i]) << i;
            }
        });
    }
}

} // namespace ecokv::kernels
