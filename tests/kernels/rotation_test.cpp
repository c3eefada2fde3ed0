// SPDX-License-Identifier: GPL-3.0-or-later
// Rotate keys by the formula, un-rotate them in every kernel: the geometry must be that of the keys
// before. M-RoPE, partial rotary, attention scaling, together and alone.
#include "support/host_runtime.h"

#include "kernels/backends.h"
#include "kernels/instruction_sets.h"
#include "kernels/key_moments.h"
#include "kernels/key_statistics.h"
#include "kernels/rotated_keys.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ecokv::kernels {

using test::Axes;
using test::HostTensor;
using test::RopeKind;
using test::TestRope;

namespace {

constexpr std::int64_t kHeads = 2, kTokens = 61;

struct Measured {
    std::vector<float> cosine, euclid, norm;
    std::vector<HeadStatistics> heads;

    Measured()
        : cosine(kHeads * kTokens), euclid(cosine.size()), norm(cosine.size()), heads(kHeads) {}
    KeyStatisticsOutput output() {
        return {cosine.data(), euclid.data(), norm.data(), heads.data()};
    }
};

Measured measure(const HostTensor& keys, Backend backend, const Rotation* rotation = nullptr) {
    Measured measured;
    EXPECT_EQ(keyStatistics({keys.view(), rotation}, measured.output(), backend), Status::Ok);
    return measured;
}

Measured measureOnCuda(const HostTensor& keys, const Rotation* rotation) {
    Measured measured;
    cuda::HostRuntime runtime;
    EXPECT_EQ(cuda::keyStatisticsSteps(runtime, {keys.view(), rotation}, measured.output()),
              Status::Ok);
    return measured;
}

/// Of keys of length sqrt(dim) that were rounded to float32 twice.
void expectGeometryOf(const Measured& plain, const Measured& unrotated) {
    for (std::size_t i = 0; i < plain.cosine.size(); ++i) {
        ASSERT_NEAR(unrotated.cosine[i], plain.cosine[i], 1e-6) << i;
        ASSERT_NEAR(unrotated.euclid[i], plain.euclid[i], 1e-5 * plain.euclid[i]) << i;
    }
}

/// Each `step`-th kind of rope on keys [kHeads, kTokens, dim], with the keys before and after it.
template <class Check>
void forEachRope(std::int64_t dim, Check&& check, std::size_t first = 0, std::size_t step = 1) {
    HostTensor plain(DType::F32, kHeads, kTokens, dim);
    plain.fillNormal(11, 0.8F);
    const std::vector<RopeKind> kinds = test::ropeKinds(dim);
    for (std::size_t i = first; i < kinds.size(); i += step) {
        const RopeKind& kind = kinds[i];
        SCOPED_TRACE(testing::Message() << kind);
        const TestRope rope(kind, kTokens);
        check(plain, rope.rotated(plain), rope.rotation);
    }
}

} // namespace

TEST(Rotation, theReferenceGivesTheKeysBeforeIt) {
    forEachRope(32, [](const HostTensor& plain, const HostTensor& turned, const Rotation& rope) {
        expectGeometryOf(measure(plain, Backend::Reference),
                         measure(turned, Backend::Reference, &rope));
    });
}

TEST(Rotation, theCpuGivesTheKeysBeforeIt) {
    for (const std::int64_t dim : {32, 80}) {
        forEachRope(dim,
                    [](const HostTensor& plain, const HostTensor& turned, const Rotation& rope) {
                        const Measured wanted = measure(plain, Backend::Reference);
                        test::forEachInstructionSet([&](const char* instructionSet) {
                            SCOPED_TRACE(instructionSet);
                            expectGeometryOf(wanted, measure(turned, Backend::Cpu, &rope));
                        });
                    });
    }
}

// Every fifth kind for each size, others each time: blocks of fibers take their time.
TEST(Rotation, theCudaKernelsGiveTheKeysBeforeIt) {
    std::size_t first = 0;
    for (const std::int64_t dim : {32, 80, 128}) {
        const auto check = [](const HostTensor& plain, const HostTensor& turned,
                              const Rotation& rope) {
            expectGeometryOf(measure(plain, Backend::Reference), measureOnCuda(turned, &rope));
        };
        forEachRope(dim, check, first++, 5);
    }
}

// Rows out of the range of fp32 squares take other paths; one is huge, one tiny, one damaged.
TEST(Rotation, unusualRowsAreGivenBackToo) {
    HostTensor plain(DType::F32, kHeads, kTokens, 32);
    plain.fillNormal(12, 0.8F);
    plain.setRow(0, 9, std::vector<float>(32, 3e17F));
    plain.setRow(0, 11, std::vector<float>(32, -2e-19F));
    for (const RopeKind& kind :
         {RopeKind{RopeStyle::Half, 32, 0, Axes::Chunked, 1.25F},
          RopeKind{RopeStyle::Half, 32, 8, Axes::One, 1.25F},
          RopeKind{RopeStyle::Interleaved, 32, 5, Axes::Interleaved, 1.25F}}) {
        SCOPED_TRACE(testing::Message() << kind);
        const TestRope rope(kind, kTokens);
        HostTensor turned = rope.rotated(plain);
        HostTensor damaged = plain;
        turned.set(1, 20, 3, std::numeric_limits<float>::quiet_NaN());
        damaged.setRow(1, 20, std::vector<float>(32, 0.0F));
        const Measured wanted = measure(damaged, Backend::Reference);
        expectGeometryOf(wanted, measure(turned, Backend::Reference, &rope.rotation));
        expectGeometryOf(wanted, measure(turned, Backend::Cpu, &rope.rotation));
        expectGeometryOf(wanted, measureOnCuda(turned, &rope.rotation));
    }
}

TEST(Rotation, momentsAreThoseOfTheKeysBeforeIt) {
    std::vector<std::uint8_t> groups(kTokens); // rows of a group lie together: tokens move
    for (std::size_t token = 0; token < groups.size(); ++token) {
        groups[token] = token % 3 == 1 ? 1 : 0;
    }
    forEachRope(48, [&](const HostTensor& plain, const HostTensor& turned, const Rotation& rope) {
        KeyMomentsOutput wanted, got;
        ASSERT_EQ(keyMoments(plain.view(), KeyMomentsPlan({kTokens, 48, nullptr, groups, 2}),
                             wanted, Backend::Reference),
                  Status::Ok);
        for (const Backend backend : {Backend::Reference, Backend::Cpu}) {
            ASSERT_EQ(keyMoments(turned.view(), KeyMomentsPlan({kTokens, 48, &rope, groups, 2}),
                                 got, backend),
                      Status::Ok);
            for (std::size_t i = 0; i < wanted.post.size(); ++i) {
                const KeyMoments& a = got.pre[i];
                const KeyMoments& b = wanted.post[i];
                ASSERT_EQ(a.nonZero, b.nonZero);
                ASSERT_NEAR(a.norms, b.norms, 1e-6 * b.norms);
                ASSERT_NEAR(a.squaredNorms, b.squaredNorms, 1e-6 * b.squaredNorms);
                for (std::size_t d = 0; d < 48; ++d) {
                    ASSERT_NEAR(a.key[d], b.key[d], 1e-6 * b.norms) << d;
                    ASSERT_NEAR(a.unit[d], b.unit[d], 1e-6 * kTokens) << d;
                }
                const double scale = *std::max_element(b.scatter.begin(), b.scatter.end());
                for (std::size_t d = 0; d < b.scatter.size(); ++d) {
                    ASSERT_NEAR(a.scatter[d], b.scatter[d], 3e-6 * scale) << d;
                }
            }
        }
    });
}

// Where all three positions of each token are the same, three axes are one.
TEST(Rotation, equalAxesAreTheSameAsOnePosition) {
    HostTensor keys(DType::BF16, kHeads, kTokens, 64);
    keys.fillNormal(13, 0.5F);
    std::vector<float> frequencies(32);
    std::vector<std::int64_t> positions(kTokens);
    std::vector<std::array<std::int32_t, 3>> triples;
    std::vector<std::uint8_t> axes(32);
    for (std::size_t i = 0; i < 32; ++i) {
        frequencies[i] = std::pow(1e6F, -static_cast<float>(i) / 32.0F);
        axes[i] = static_cast<std::uint8_t>(i % 3);
    }
    std::iota(positions.begin(), positions.end(), 40);
    for (const std::int64_t position : positions) {
        const auto p = static_cast<std::int32_t>(position);
        triples.push_back({p, p, p});
    }
    const Rotation one{RopeStyle::Half, frequencies.data(), positions.data(), 1.0F};
    Rotation three = one;
    three.positions = nullptr;
    three.axes = axes.data();
    three.axisPositions = triples.data();
    for (const Backend backend : {Backend::Reference, Backend::Cpu}) {
        const Measured a = measure(keys, backend, &one), b = measure(keys, backend, &three);
        EXPECT_EQ(a.cosine, b.cosine);
        EXPECT_EQ(a.euclid, b.euclid);
    }
    const Measured a = measureOnCuda(keys, &one), b = measureOnCuda(keys, &three);
    EXPECT_EQ(a.cosine, b.cosine);
    EXPECT_EQ(a.euclid, b.euclid);
}

TEST(Rotation, theRestOfATokenRangeKeepsItsPositions) {
    const TestRope rope({RopeStyle::Half, 16, 0, Axes::Chunked, 1.0F}, kTokens);
    HostTensor plain(DType::F32, kHeads, kTokens, 16);
    plain.fillNormal(14);
    const HostTensor turned = rope.rotated(plain);
    const Rotation rest = rope.rotation.from(10);
    Measured wanted, got;
    ASSERT_EQ(keyStatistics({plain.view().slice(1, 10, kTokens), nullptr}, wanted.output(),
                            Backend::Reference),
              Status::Ok);
    ASSERT_EQ(
        keyStatistics({turned.view().slice(1, 10, kTokens), &rest}, got.output(), Backend::Cpu),
        Status::Ok);
    for (std::size_t i = 0; i < kHeads * (kTokens - 10); ++i) {
        ASSERT_NEAR(got.cosine[i], wanted.cosine[i], 1e-6);
    }
}

TEST(Rotation, shapesThatDoNotFitAreRefused) {
    TestRope rope({RopeStyle::Half, 16, 4, Axes::Chunked, 1.0F}, kTokens);
    HostTensor keys(DType::F32, kHeads, kTokens, 16);
    keys.fillNormal(15);
    const auto status = [&](const Rotation& rotation) {
        Measured measured;
        return keyStatistics({keys.view(), &rotation}, measured.output(), Backend::Cpu);
    };
    EXPECT_EQ(status(rope.rotation), Status::Ok);
    Rotation wide = rope.rotation;
    wide.pairs = 9;
    EXPECT_EQ(status(wide), Status::BadShape);
    Rotation nowhere = rope.rotation;
    nowhere.axisPositions = nullptr;
    EXPECT_EQ(status(nowhere), Status::BadShape);
    rope.axes[3] = 3; // there are three positions only
    EXPECT_EQ(status(rope.rotation), Status::BadShape);
}

} // namespace ecokv::kernels
