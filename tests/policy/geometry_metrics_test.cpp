// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/geometry_metrics.h"

#include <gtest/gtest.h>

#include <set>

namespace ecokv::policy {

namespace {

/// Every number of a subset is told apart: 100 * head + 10 * subset + quantity.
HeadGeometry numbered(double head, std::int64_t imageTokens = 3) {
    HeadGeometry geometry;
    double subset = 0;
    for (SubsetGeometry* keys : {&geometry.all, &geometry.image, &geometry.text}) {
        keys->tokens = 4;
        double quantity = 0;
        for (const GeometryQuantity& each : kGeometryQuantities) {
            keys->*each.value = 100 * head + 10 * subset + quantity++;
        }
        ++subset;
    }
    geometry.image.tokens = imageTokens;
    geometry.all.spectrum = {2 + head, 1 + head};
    return geometry;
}

} // namespace

TEST(GeometryMetrics, namesAreQuantityThenRotationThenTokens) {
    EXPECT_EQ(geometryName("anisotropy", false, KeySet::All), "anisotropy");
    EXPECT_EQ(geometryName("anisotropy", true, KeySet::Image), "anisotropy_pre_image");
    EXPECT_EQ(geometryName("participation_ratio", false, KeySet::Text), "participation_ratio_text");
    const auto metrics = geometryMetrics({{numbered(1)}, {numbered(2)}});
    EXPECT_EQ(metrics.size(), 5U * 3 + 4U * 3); // no mean_key_norm of un-rotated keys
    EXPECT_FALSE(metrics.contains("mean_key_norm_pre"));
}

TEST(GeometryMetrics, eachNameHoldsItsOwnNumbers) {
    const auto metrics = geometryMetrics({{numbered(1), numbered(3)}, {numbered(2), numbered(4)}});
    EXPECT_EQ(metrics.at("redundancy_cosine"), (std::vector<float>{100, 300}));
    EXPECT_EQ(metrics.at("redundancy_euclid_image"), (std::vector<float>{111, 311}));
    EXPECT_EQ(metrics.at("anisotropy_text"), (std::vector<float>{122, 322}));
    EXPECT_EQ(metrics.at("participation_ratio_pre_text"), (std::vector<float>{223, 423}));
    EXPECT_EQ(metrics.at("mean_key_norm"), (std::vector<float>{104, 304}));
    std::set<float> seen;
    for (const auto& [name, values] : metrics) {
        EXPECT_TRUE(seen.insert(values[0]).second) << name;
    }
}

TEST(GeometryMetrics, aPromptOfOneKindOfTokenHasNoSubsets) {
    const auto metrics = geometryMetrics({{numbered(1, 0)}, {}});
    EXPECT_EQ(metrics.size(), 5U);
    EXPECT_TRUE(metrics.contains("participation_ratio"));
}

TEST(GeometryMetrics, spectraFollowEachOtherByHeadAndMayBeAbsent) {
    const auto spectra = geometrySpectra({{numbered(1), numbered(3)}, {}});
    EXPECT_EQ(spectra.size(), 1U);
    EXPECT_EQ(spectra.at("spectrum"), (std::vector<float>{3, 2, 5, 4}));
    HeadGeometry without = numbered(1);
    without.all.spectrum.clear();
    EXPECT_TRUE(geometrySpectra({{without}, {without}}).empty());
}

} // namespace ecokv::policy
