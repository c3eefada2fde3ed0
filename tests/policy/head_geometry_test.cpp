// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "policy/head_geometry.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace ecokv::policy {

namespace {

constexpr double kTolerance = 1e-6;

/// One head of float32 keys.
struct Keys {
    std::vector<float> values;
    std::int64_t dim = 0;

    TensorView view() {
        return TensorView::contiguous(values.data(), DType::F32,
                                      {1, static_cast<std::int64_t>(values.size()) / dim, dim});
    }
};

/// Images at (1, 0) and (3, 0), text at (0, 2) and (0, 4).
Keys cross() {
    return {{1, 0, 0, 2, 3, 0, 0, 4}, 2};
}

const std::vector<std::uint8_t> kCrossKinds{2, 0, 2, 1};

LayerGeometry measured(const TensorView& keys, GeometrySetup setup, Spectra spectra) {
    setup.tokens = keys.shape[1];
    setup.dim = keys.shape[2];
    return GeometryMeter(setup).measure(LayerId{7}, keys, spectra);
}

HeadGeometry measured(Keys keys, std::span<const std::uint8_t> kinds = {},
                      Spectra spectra = Spectra::EverySubset) {
    return measured(keys.view(), {.kinds = kinds}, spectra).post.at(0);
}

} // namespace

// By hand: image keys vary along x alone (variance 1), text keys along y alone (variance 1); all
// four have mean (1, 1.5), covariance ((1.5, -1.5), (-1.5, 2.75)).
TEST(HeadGeometry, imageAndTextTokensAreMeasuredApart) {
    const HeadGeometry head = measured(cross(), kCrossKinds);
    EXPECT_EQ(head.image.tokens, 2);
    EXPECT_EQ(head.text.tokens, 2); // special tokens count as text
    EXPECT_EQ(head.all.tokens, 4);
    EXPECT_NEAR(head.image.anisotropy, 1, kTolerance);
    EXPECT_NEAR(head.text.redundancyCosine, 1, kTolerance);
    EXPECT_NEAR(head.image.redundancyEuclid, 2 * 4 / 5.0 - 1, kTolerance); // kbar 2, m2 5
    EXPECT_NEAR(head.text.redundancyEuclid, 2 * 9 / 10.0 - 1, kTolerance); // kbar 3, m2 10
    EXPECT_NEAR(head.all.redundancyEuclid, (4 * 3.25 / 7.5 - 1) / 3, kTolerance);
    EXPECT_NEAR(head.all.anisotropy, std::sqrt(0.5), kTolerance);
    EXPECT_NEAR(head.all.redundancyCosine, (4 * 0.5 - 1) / 3, kTolerance);
    EXPECT_NEAR(head.all.meanKeyNorm, 2.5, kTolerance);
    EXPECT_NEAR(head.image.meanKeyNorm, 2, kTolerance);
}

TEST(HeadGeometry, theSpectrumHoldsTheEigenvaluesOfTheCovariance) {
    const HeadGeometry head = measured(cross(), kCrossKinds);
    const double root = std::sqrt(1.25 * 1.25 / 4 + 1.5 * 1.5);
    ASSERT_EQ(head.all.spectrum.size(), 2U);
    EXPECT_NEAR(head.all.spectrum[0], 2.125 + root, kTolerance);
    EXPECT_NEAR(head.all.spectrum[1], 2.125 - root, kTolerance);
    const double ratio = 4.25 * 4.25 / (std::pow(2.125 + root, 2) + std::pow(2.125 - root, 2));
    EXPECT_NEAR(head.all.participationRatio, ratio, kTolerance);
    EXPECT_NEAR(head.image.spectrum[0], 1, kTolerance);
    EXPECT_NEAR(head.image.spectrum[1], 0, kTolerance);
    EXPECT_NEAR(head.image.participationRatio, 1, kTolerance);
}

TEST(HeadGeometry, withoutKindsEveryTokenIsText) {
    const HeadGeometry head = measured(cross());
    EXPECT_EQ(head.text.tokens, 4);
    EXPECT_EQ(head.image.tokens, 0);
    EXPECT_EQ(head.text.redundancyCosine, head.all.redundancyCosine);
    EXPECT_TRUE(std::isnan(head.image.redundancyCosine)); // nothing to say, not 0
    EXPECT_TRUE(std::isnan(head.image.participationRatio));
    EXPECT_TRUE(head.image.spectrum.empty());
}

// A question at the end is protected: no candidate, but text all the same.
TEST(HeadGeometry, protectedTokensAreNoCandidatesButTextOrImageStill) {
    Keys keys = cross();
    const GeometrySetup setup{.candidates = TokenRange{1, 2}, .kinds = kCrossKinds};
    const HeadGeometry head = measured(keys.view(), setup, Spectra::All).post.at(0);
    EXPECT_EQ(head.all.tokens, 2); // (0, 2) and (3, 0)
    EXPECT_NEAR(head.all.redundancyCosine, 0, kTolerance);
    EXPECT_NEAR(head.all.meanKeyNorm, 2.5, kTolerance);
    EXPECT_EQ(head.image.tokens, 2);
    EXPECT_NEAR(head.image.redundancyEuclid, 2 * 4 / 5.0 - 1, kTolerance);
    EXPECT_EQ(head.text.tokens, 2);
    EXPECT_NEAR(head.text.redundancyEuclid, 2 * 9 / 10.0 - 1, kTolerance);
}

TEST(HeadGeometry, spectraAreComputedOnlyWhereAskedFor) {
    EXPECT_TRUE(measured(cross(), kCrossKinds, Spectra::None).all.spectrum.empty());
    const HeadGeometry all = measured(cross(), kCrossKinds, Spectra::All);
    EXPECT_EQ(all.all.spectrum.size(), 2U);
    EXPECT_TRUE(all.image.spectrum.empty());
    EXPECT_GT(all.image.participationRatio, 0); // that one needs no eigenvalues
}

// Every key is the same vector turned by its own position: undone, they are all equal.
TEST(HeadGeometry, undoingTheRotationShowsThatKeysWereEqual) {
    Keys keys{{}, 4};
    const std::array<float, 2> frequencies{1.0F, 0.1F};
    std::vector<std::int64_t> positions(40);
    std::iota(positions.begin(), positions.end(), 3);
    for (const std::int64_t position : positions) {
        const auto p = static_cast<double>(position);
        keys.values.insert(keys.values.end(),
                           {static_cast<float>(std::cos(p)), static_cast<float>(std::cos(0.1 * p)),
                            static_cast<float>(std::sin(p)),
                            static_cast<float>(std::sin(0.1 * p))});
    }
    const kernels::Rotation rotation{kernels::RopeStyle::Half, frequencies.data(), positions.data(),
                                     1.0F};
    const LayerGeometry layer = measured(keys.view(), {.rotation = &rotation}, Spectra::All);
    EXPECT_LT(layer.post[0].all.redundancyCosine, 0.5);
    EXPECT_NEAR(layer.pre[0].all.redundancyCosine, 1, kTolerance);
    EXPECT_NEAR(layer.pre[0].all.redundancyEuclid, 1, kTolerance);
    EXPECT_NEAR(layer.pre[0].all.anisotropy, 1, kTolerance);
    EXPECT_EQ(layer.pre[0].all.participationRatio, 0); // no spread left
    EXPECT_NEAR(layer.pre[0].all.meanKeyNorm, layer.post[0].all.meanKeyNorm, kTolerance);
}

TEST(HeadGeometry, oneTokenZeroKeysAndNaNAreFinite) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (Keys keys : {Keys{{1, 2}, 2}, Keys{{0, 0, 0, 0}, 2}, Keys{{nan, 1, nan, nan}, 2}}) {
        const SubsetGeometry all = measured(keys).all;
        EXPECT_EQ(all.redundancyCosine, 0);
        EXPECT_EQ(all.redundancyEuclid, 0);
        EXPECT_EQ(all.participationRatio, 0);
        EXPECT_EQ(all.spectrum, (std::vector<double>{0, 0}));
    }
    Keys poisoned = cross();
    poisoned.values[0] = nan; // counts as the zero key
    Keys zeroed = cross();
    zeroed.values[0] = 0;
    EXPECT_EQ(measured(poisoned).all.spectrum, measured(zeroed).all.spectrum);
    EXPECT_EQ(measured(poisoned).all.redundancyCosine, measured(zeroed).all.redundancyCosine);
}

TEST(HeadGeometry, hugeAndTinyKeysKeepTheirShape) {
    for (const float scale : {1e-18F, 1e17F}) {
        Keys keys = cross();
        for (float& value : keys.values) {
            value *= scale;
        }
        const HeadGeometry head = measured(keys);
        const double wide = static_cast<double>(scale) * static_cast<double>(scale);
        const double root = std::sqrt(1.25 * 1.25 / 4 + 1.5 * 1.5);
        EXPECT_NEAR(head.all.spectrum[0] / wide, 2.125 + root, 1e-5);
        EXPECT_NEAR(head.all.redundancyCosine, 1.0 / 3, kTolerance);
    }
}

TEST(HeadGeometry, kindsOfAnotherLengthAreRefusedWithTheLayer) {
    Keys keys = cross();
    const std::vector<std::uint8_t> kinds{2, 0};
    try {
        measured(keys.view(), {.kinds = kinds}, Spectra::All);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        EXPECT_NE(error.message().find("layer 7"), std::string::npos);
    }
}

} // namespace ecokv::policy
