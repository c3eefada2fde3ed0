// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/key_moments.h"

#include "kernels/host_tensor.h"
#include "kernels/instruction_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace ecokv::kernels {

using test::HostTensor;
using test::Shape;

namespace {

class KeyMomentsOf : public testing::TestWithParam<Backend> {};

struct Input {
    TensorView keys;
    const Rotation* rotation = nullptr;
    std::span<const std::uint8_t> groups = {};
    int groupCount = 1;

    KeyMomentsPlan plan() const {
        return KeyMomentsPlan({keys.shape[1], keys.shape[2], rotation, groups, groupCount});
    }
};

KeyMomentsOutput measure(const Input& input, Backend backend) {
    KeyMomentsOutput output;
    EXPECT_EQ(keyMoments(input.keys, input.plan(), output, backend), Status::Ok);
    return output;
}

Status statusOf(const Input& input) {
    KeyMomentsOutput output;
    return keyMoments(input.keys, input.plan(), output, Backend::Cpu);
}

/// Two groups in a pattern that is neither contiguous nor balanced.
std::vector<std::uint8_t> twoGroups(std::int64_t tokens) {
    std::vector<std::uint8_t> groups(static_cast<std::size_t>(tokens));
    for (std::size_t i = 0; i < groups.size(); ++i) {
        groups[i] = (i / 3) % 4 == 1 ? 1 : 0;
    }
    return groups;
}

/// Rotation of `dim` at positions 5, 6, 7, ...; owns its tables.
struct Turning {
    std::vector<float> frequencies;
    std::vector<std::int64_t> positions;
    Rotation rotation;

    Turning(std::int64_t tokens, std::int64_t dim, RopeStyle style = RopeStyle::Half,
            float scaling = 1.0F)
        : frequencies(static_cast<std::size_t>(dim / 2)),
          positions(static_cast<std::size_t>(tokens)) {
        for (std::size_t i = 0; i < frequencies.size(); ++i) {
            frequencies[i] =
                std::pow(1e4F, -static_cast<float>(i) / static_cast<float>(frequencies.size()));
        }
        std::iota(positions.begin(), positions.end(), 5);
        rotation = {style, frequencies.data(), positions.data(), scaling};
    }
};

double largest(const std::vector<double>& values) {
    double most = 0;
    for (const double value : values) {
        most = std::max(most, std::abs(value));
    }
    return most;
}

void expectNear(const std::vector<double>& values, const std::vector<double>& wanted, double scale,
                const char* what) {
    ASSERT_EQ(values.size(), wanted.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_NEAR(values[i], wanted[i], scale) << what << " " << i;
    }
}

/// Sums within 1e-6 of the sum of lengths, the scatter within 2e-6 of its largest entry: fp32
/// products over 256 rows.
void expectAgrees(const KeyMoments& moments, const KeyMoments& wanted) {
    EXPECT_EQ(moments.tokens, wanted.tokens);
    EXPECT_EQ(moments.nonZero, wanted.nonZero);
    EXPECT_NEAR(moments.norms, wanted.norms, 1e-6 * wanted.norms);
    EXPECT_NEAR(moments.squaredNorms, wanted.squaredNorms, 1e-6 * wanted.squaredNorms);
    expectNear(moments.key, wanted.key, 1e-6 * wanted.norms, "key");
    expectNear(moments.unit, wanted.unit, 1e-6 * static_cast<double>(wanted.tokens), "unit");
    expectNear(moments.scatter, wanted.scatter,
               2e-6 * largest(wanted.scatter) + 1e-12 * wanted.squaredNorms, "scatter");
}

} // namespace

// Four keys (+-3, +-4) + (10, 0) by hand: sum (40, 0), scatter diag(4 * 9, 4 * 16).
TEST_P(KeyMomentsOf, fourKeysComeOutAsByHand) {
    HostTensor keys(DType::F32, 1, 4, 2);
    const float x[] = {13, 13, 7, 7}, y[] = {4, -4, 4, -4};
    keys.fill([&](auto, auto token, auto i) { return i == 0 ? x[token] : y[token]; });
    const KeyMoments moments = measure({.keys = keys.view()}, GetParam()).post.at(0);
    EXPECT_EQ(moments.tokens, 4);
    EXPECT_EQ(moments.nonZero, 4);
    const double norms = 2 * std::sqrt(185.0) + 2 * std::sqrt(65.0);
    EXPECT_NEAR(moments.norms, norms, 1e-5);
    EXPECT_NEAR(moments.squaredNorms, 500, 1e-4);
    EXPECT_EQ(moments.key, (std::vector<double>{40, 0}));
    EXPECT_NEAR(moments.unit[0], 26 / std::sqrt(185.0) + 14 / std::sqrt(65.0), 1e-6);
    EXPECT_NEAR(moments.unit[1], 0, 1e-6);
    EXPECT_EQ(moments.scatter, (std::vector<double>{36, 0, 0, 64}));
    EXPECT_NEAR(participationRatioOf(moments), 10000.0 / (36 * 36 + 64 * 64), 1e-12);
    // r_euc = (4 * 100 / 125 - 1) / 3
    EXPECT_NEAR(statisticsOf(moments).redundancyEuclid, 2.2 / 3, 1e-7);
    EXPECT_NEAR(statisticsOf(moments).meanKeyNorm, norms / 4, 1e-6);
}

TEST_P(KeyMomentsOf, groupsTogetherAreTheWhole) {
    HostTensor keys(DType::BF16, 2, 301, 48);
    keys.fillNormal(4, 1.5F);
    const auto groups = twoGroups(301);
    const Turning turning(301, 48);
    const auto apart = measure({keys.view(), &turning.rotation, groups, 2}, GetParam());
    const auto whole = measure({keys.view(), &turning.rotation, {}, 1}, GetParam());
    ASSERT_EQ(apart.post.size(), 4U);
    ASSERT_EQ(apart.pre.size(), 4U);
    for (std::size_t head = 0; head < 2; ++head) {
        EXPECT_EQ(apart.post[2 * head + 1].tokens, std::count(groups.begin(), groups.end(), 1));
        expectAgrees(merged(apart.post[2 * head], apart.post[2 * head + 1]), whole.post[head]);
        expectAgrees(merged(apart.pre[2 * head], apart.pre[2 * head + 1]), whole.pre[head]);
    }
}

TEST_P(KeyMomentsOf, undoingARotationGivesTheKeysBack) {
    for (const RopeStyle style : {RopeStyle::Half, RopeStyle::Interleaved}) {
        const Turning turning(90, 16, style, 1.25F);
        HostTensor plain(DType::F32, 1, 90, 16), turned(DType::F32, 1, 90, 16);
        plain.fillNormal(9, 0.7F);
        for (std::int64_t token = 0; token < 90; ++token) {
            for (std::int64_t pair = 0; pair < 8; ++pair) {
                const bool half = style == RopeStyle::Half;
                const std::int64_t a = half ? pair : 2 * pair, b = half ? pair + 8 : 2 * pair + 1;
                const double angle = static_cast<double>(
                    static_cast<float>(turning.positions[static_cast<std::size_t>(token)]) *
                    turning.frequencies[static_cast<std::size_t>(pair)]);
                const double x = plain.get(0, token, a), y = plain.get(0, token, b);
                turned.set(0, token, a,
                           static_cast<float>(1.25 * (x * std::cos(angle) - y * std::sin(angle))));
                turned.set(0, token, b,
                           static_cast<float>(1.25 * (y * std::cos(angle) + x * std::sin(angle))));
            }
        }
        const auto wanted = measure({.keys = plain.view()}, Backend::Reference).post[0];
        const auto pre = measure({turned.view(), &turning.rotation, {}, 1}, GetParam()).pre[0];
        expectAgrees(pre, wanted);
    }
}

TEST_P(KeyMomentsOf, keysThatAreNotFiniteCountAsZeroKeys) {
    HostTensor zeroed(DType::F32, 1, 20, 24);
    zeroed.fillNormal(3);
    zeroed.setRow(0, 7, std::vector<float>(24, 0.0F));
    HostTensor poisoned = zeroed;
    poisoned.set(0, 7, 23, std::numeric_limits<float>::quiet_NaN());
    const auto clean = measure({.keys = zeroed.view()}, GetParam()).post[0];
    const auto result = measure({.keys = poisoned.view()}, GetParam()).post[0];
    EXPECT_EQ(result.tokens, 20);
    EXPECT_EQ(result.nonZero, 19);
    EXPECT_EQ(result.key, clean.key);
    EXPECT_EQ(result.scatter, clean.scatter);
}

TEST_P(KeyMomentsOf, noKeysAndOneKeyAreNoProblem) {
    HostTensor one(DType::F32, 1, 1, 8);
    one.fillNormal(1);
    const std::vector<std::uint8_t> groups{1};
    const auto result = measure({one.view(), nullptr, groups, 2}, GetParam());
    EXPECT_EQ(result.post[0].tokens, 0);
    EXPECT_EQ(participationRatioOf(result.post[0]), 0);
    EXPECT_EQ(statisticsOf(result.post[0]).redundancyCosine, 0);
    EXPECT_EQ(result.post[1].tokens, 1);
    EXPECT_EQ(participationRatioOf(result.post[1]), 0);
    EXPECT_EQ(statisticsOf(result.post[1]).redundancyCosine, 0);
    EXPECT_NEAR(statisticsOf(result.post[1]).anisotropy, 1, 1e-6);
    const auto none = measure({.keys = HostTensor(DType::F32, 3, 0, 8).view()}, GetParam());
    ASSERT_EQ(none.post.size(), 3U);
    EXPECT_EQ(none.post[2].tokens, 0);
}

TEST_P(KeyMomentsOf, theScaleOfTheKeysDoesNotMatter) {
    HostTensor keys(DType::F32, 1, 60, 20);
    keys.fillNormal(8, 0.5F);
    const auto wanted = measure({.keys = keys.view()}, Backend::Reference).post[0];
    for (const float scale : {1e-25F, 1e-12F, 1e18F, 1e30F}) {
        HostTensor scaled = keys;
        scaled.fill(
            [&](auto head, auto token, auto i) { return scale * keys.get(head, token, i); });
        const auto result = measure({.keys = scaled.view()}, GetParam()).post[0];
        EXPECT_NEAR(participationRatioOf(result), participationRatioOf(wanted), 1e-4) << scale;
        EXPECT_NEAR(statisticsOf(result).redundancyCosine, statisticsOf(wanted).redundancyCosine,
                    1e-6)
            << scale;
    }
}

// Points (+-1, +-b) around (100, -50) for b = 1, 0, 2: eigenvalues 1 and b^2 by hand.
TEST_P(KeyMomentsOf, theParticipationRatioFollowsTheEigenvalues) {
    HostTensor keys(DType::F32, 3, 4, 2);
    keys.fill([](std::int64_t head, std::int64_t token, std::int64_t i) {
        const float b = head == 0 ? 1.0F : head == 1 ? 0.0F : 2.0F;
        const float side = (token >> i) % 2 == 0 ? 1.0F : -1.0F;
        return i == 0 ? 100.0F + side : -50.0F + side * b;
    });
    const auto heads = measure({.keys = keys.view()}, GetParam()).post;
    EXPECT_NEAR(participationRatioOf(heads[0]), 2, 1e-6);
    EXPECT_NEAR(participationRatioOf(heads[1]), 1, 1e-6);
    EXPECT_NEAR(participationRatioOf(heads[2]), 25.0 / 17, 1e-6); // (1 + 4)^2 / (1 + 16)
}

TEST_P(KeyMomentsOf, equalKeysHaveNoSpectrum) {
    HostTensor keys(DType::BF16, 1, 30, 16);
    keys.fill([](auto, auto, auto i) { return 0.37F * static_cast<float>(i) - 2.0F; });
    EXPECT_EQ(participationRatioOf(measure({.keys = keys.view()}, GetParam()).post[0]), 0);
}

INSTANTIATE_TEST_SUITE_P(Host, KeyMomentsOf, testing::Values(Backend::Reference, Backend::Cpu),
                         [](const auto& info) {
                             return info.param == Backend::Cpu ? "cpu" : "reference";
                         });

TEST(KeyMomentsMatrix, cpuAgreesWithTheReference) {
    unsigned seed = 500;
    for (const Shape& shape : test::shapeMatrix()) {
        HostTensor keys(shape.dtype, 2, shape.tokens, shape.dim, shape.gap);
        keys.fillNormal(++seed, shape.offset);
        const auto groups = twoGroups(shape.tokens);
        const Turning turning(shape.tokens, shape.dim);
        const Rotation* rotation = shape.dim % 2 == 0 ? &turning.rotation : nullptr;
        const Input input{keys.view(), rotation, groups, 2};
        const auto wanted = measure(input, Backend::Reference);
        test::forEachInstructionSet([&](const char* instructionSet) {
            SCOPED_TRACE(std::string(instructionSet) + " " + describe(shape));
            const auto result = measure(input, Backend::Cpu);
            for (std::size_t i = 0; i < wanted.post.size(); ++i) {
                expectAgrees(result.post[i], wanted.post[i]);
            }
            for (std::size_t i = 0; i < wanted.pre.size(); ++i) {
                expectAgrees(result.pre[i], wanted.pre[i]);
            }
        });
    }
}

TEST(KeyMomentsMatrix, agreeWithTheKernelsOfThePolicies) {
    HostTensor keys(DType::BF16, 3, 777, 64);
    keys.fillNormal(21, 0.8F);
    std::vector<float> rows(std::size_t{3} * 777 * 3);
    std::vector<HeadStatistics> wanted(3);
    ASSERT_EQ(
        keyStatistics({keys.view(), nullptr},
                      {rows.data(), rows.data() + 3 * 777, rows.data() + 6 * 777, wanted.data()},
                      Backend::Cpu),
        Status::Ok);
    const auto moments = measure({.keys = keys.view()}, Backend::Cpu).post;
    for (std::size_t head = 0; head < 3; ++head) {
        const HeadStatistics statistics = statisticsOf(moments[head]);
        EXPECT_NEAR(statistics.redundancyCosine, wanted[head].redundancyCosine, 1e-7);
        EXPECT_NEAR(statistics.redundancyEuclid, wanted[head].redundancyEuclid, 1e-7);
        EXPECT_NEAR(statistics.anisotropy, wanted[head].anisotropy, 1e-7);
        EXPECT_NEAR(statistics.meanKeyNorm, wanted[head].meanKeyNorm, 1e-6);
    }
}

TEST(KeyMomentsMatrix, oneAndManyThreadsGiveTheSameBits) {
#ifndef _OPENMP
    GTEST_SKIP() << "built without OpenMP: there is one thread";
#else
    HostTensor keys(DType::BF16, 2, 4001, 64);
    keys.fillNormal(2, 0.5F);
    const auto groups = twoGroups(4001);
    const Turning turning(4001, 64);
    const Input input{keys.view(), &turning.rotation, groups, 2};
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    const auto one = measure(input, Backend::Cpu);
    for (const int threads : {2, 3, 7}) {
        omp_set_num_threads(threads);
        const auto many = measure(input, Backend::Cpu);
        for (std::size_t i = 0; i < one.post.size(); ++i) {
            EXPECT_EQ(many.post[i].scatter, one.post[i].scatter) << threads;
            EXPECT_EQ(many.pre[i].scatter, one.pre[i].scatter) << threads;
            EXPECT_EQ(many.pre[i].unit, one.pre[i].unit) << threads;
        }
    }
    omp_set_num_threads(before);
#endif
}

TEST(KeyMomentsArguments, whatDoesNotFitIsRefused) {
    HostTensor keys(DType::F32, 1, 4, 7);
    keys.fillNormal(1);
    const std::vector<std::uint8_t> tooFew{0, 1}, unknown{0, 1, 2, 0};
    EXPECT_EQ(statusOf({keys.view(), nullptr, tooFew, 2}), Status::BadShape);
    EXPECT_EQ(statusOf({keys.view(), nullptr, unknown, 2}), Status::BadShape);
    const Turning turning(4, 8); // an odd number of components has no pairs
    EXPECT_EQ(statusOf({keys.view(), &turning.rotation}), Status::BadShape);
    TensorView elsewhere = keys.view();
    elsewhere.device = {DeviceKind::Cuda, 0};
    EXPECT_EQ(statusOf({elsewhere}), Status::DeviceMismatch);
    KeyMomentsOutput output;
    const KeyMomentsPlan other({.tokens = 5, .dim = 7});
    EXPECT_EQ(keyMoments(keys.view(), other, output, Backend::Cpu), Status::BadShape);
}

TEST(KeyMomentsArguments, aPlanOutlivesWhatItWasMadeFrom) {
    HostTensor keys(DType::F32, 1, 50, 8);
    keys.fillNormal(6);
    const auto planOf = [&] {
        const Turning turning(50, 8);
        const auto groups = twoGroups(50);
        return KeyMomentsPlan({50, 8, &turning.rotation, groups, 2});
    };
    const KeyMomentsPlan plan = planOf();
    KeyMomentsOutput first, second;
    ASSERT_EQ(keyMoments(keys.view(), plan, first, Backend::Cpu), Status::Ok);
    ASSERT_EQ(keyMoments(keys.view(), plan, second, Backend::Reference), Status::Ok);
    expectAgrees(first.pre[1], second.pre[1]);
}

} // namespace ecokv::kernels
