// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures cut into tiles with a thumbnail, by hand: which tokens lie where, and what they cover.
#include "analysis/image_tokens.h"
#include "base/error.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ecokv::analysis {

namespace {

using Box = std::array<float, 4>;

const Box kNowhere{NAN, NAN, NAN, NAN};

struct Token {
    std::int32_t image;
    PatchRole role;
    Box box;
};

/// Picture 0, 40 x 20: two tiles of 2 x 2 patches with a row end behind each row of patches, a
/// separator, and a thumbnail of 2 x 1 patches. Picture 1, 9 x 9: one patch and one that lies in
/// the padding. One word before and one behind.
TraceDocument tiled() {
    const std::vector<Token> tokens{
        {-1, PatchRole::Patch, kNowhere},          {0, PatchRole::Patch, {0, 0, 10, 10}},
        {0, PatchRole::Patch, {10, 0, 20, 10}},    {0, PatchRole::Patch, {0, 10, 10, 20}},
        {0, PatchRole::Patch, {10, 10, 20, 20}},   {0, PatchRole::Newline, kNowhere},
        {0, PatchRole::Patch, {20, 0, 30, 10}},    {0, PatchRole::Patch, {30, 0, 40, 10}},
        {0, PatchRole::Patch, {20, 10, 30, 20}},   {0, PatchRole::Patch, {30, 10, 40, 20}},
        {0, PatchRole::Newline, kNowhere},         {0, PatchRole::Separator, kNowhere},
        {0, PatchRole::Thumbnail, {0, 0, 20, 20}}, {0, PatchRole::Thumbnail, {20, 0, 40, 20}},
        {1, PatchRole::Patch, {0, 0, 9, 9}},       {1, PatchRole::Patch, kNowhere},
        {-1, PatchRole::Patch, kNowhere},
    };
    TraceDocument document;
    document.path = "tiled.ecokv.h5";
    document.dimensions.tokens = std::ssize(tokens);
    document.images.resize(2);
    document.prompt.emplace();
    for (const Token& token : tokens) {
        document.prompt->imageIndex.push_back(token.image);
        document.prompt->patchRole.push_back(static_cast<std::uint8_t>(token.role));
        document.prompt->patchBox.push_back(token.box);
    }
    return document;
}

/// Kept: patches 1 and 6, the first row end, the second patch of the thumbnail.
std::vector<float> shares() {
    std::vector<float> share(17, 0.0F);
    for (const std::size_t token : {1, 6, 5, 13}) {
        share[token] = 1;
    }
    share[8] = 0.25F;
    return share;
}

std::vector<std::int64_t> tokensOf(const ImageTokens& tokens) {
    std::vector<std::int64_t> numbers;
    for (const PatchToken& patch : tokens.patches) {
        numbers.push_back(patch.token);
    }
    return numbers;
}

float shareAt(const std::vector<PatchArea>& areas, float x, float y) {
    float share = -1;
    int found = 0;
    for (const PatchArea& area : areas) {
        if (x > area.box[0] && x < area.box[2] && y > area.box[1] && y < area.box[3]) {
            share = area.share;
            ++found;
        }
    }
    EXPECT_LE(found, 1) << "areas overlap at " << x << ", " << y;
    return share;
}

} // namespace

TEST(ImageTokens, tilesAndThumbnailAreViewsOfTheirOwn) {
    const TraceDocument document = tiled();
    const auto tiles = imageTokens(document, 0, shares(), PatchView::Tiles);
    EXPECT_EQ(tokensOf(tiles), (std::vector<std::int64_t>{1, 2, 3, 4, 6, 7, 8, 9}));
    EXPECT_TRUE(tiles.hasTiles);
    EXPECT_TRUE(tiles.hasThumbnail);
    const auto thumbnail = imageTokens(document, 0, shares(), PatchView::Thumbnail);
    EXPECT_EQ(tokensOf(thumbnail), (std::vector<std::int64_t>{12, 13}));
    const auto both = imageTokens(document, 0, shares(), PatchView::Both);
    EXPECT_EQ(both.patches.size(), 10U);
    EXPECT_EQ(both.patches.back().role, PatchRole::Thumbnail);
    EXPECT_EQ(both.patches.back().share, 1);
    EXPECT_TRUE(seesPicturesTwice(document));
}

TEST(ImageTokens, thoseWithoutAPlaceAreCounted) {
    const auto first = imageTokens(tiled(), 0, shares(), PatchView::Tiles);
    EXPECT_EQ(first.newlines.all, 2);
    EXPECT_EQ(first.newlines.kept, 1);
    EXPECT_EQ(first.separators.all, 1);
    EXPECT_EQ(first.separators.kept, 0);
    EXPECT_EQ(first.unplaced.all, 0);
    const auto second = imageTokens(tiled(), 1, shares(), PatchView::Thumbnail);
    EXPECT_EQ(tokensOf(second), (std::vector<std::int64_t>{14})); // it has no thumbnail
    EXPECT_EQ(second.unplaced.all, 1);
    EXPECT_FALSE(second.hasThumbnail);
}

TEST(ImageTokens, thumbnailAloneIsShownAsThePicture) {
    TraceDocument document = tiled();
    for (std::size_t token = 1; token < 10; ++token) {
        document.prompt->patchBox[token] = kNowhere;
    }
    EXPECT_EQ(tokensOf(imageTokens(document, 0, shares(), PatchView::Tiles)),
              (std::vector<std::int64_t>{12, 13}));
    EXPECT_FALSE(seesPicturesTwice(document));
}

TEST(ImageTokens, aPictureThatIsNotThereIsRefused) {
    EXPECT_THROW(imageTokens(tiled(), 2, shares(), PatchView::Both), Error);
    EXPECT_THROW(imageTokens(tiled(), -1, shares(), PatchView::Both), Error);
}

TEST(CoverOf, aPlaceIsKeptWhereAnyTokenOverItIs) {
    const auto both = imageTokens(tiled(), 0, shares(), PatchView::Both);
    const auto areas = coverOf(both.patches);
    EXPECT_EQ(shareAt(areas, 5, 5), 1);  // its tile's patch
    EXPECT_EQ(shareAt(areas, 15, 5), 0); // neither
    EXPECT_EQ(shareAt(areas, 15, 15), 0);
    EXPECT_EQ(shareAt(areas, 25, 15), 1); // the thumbnail alone, the tile has a quarter
    EXPECT_EQ(shareAt(areas, 35, 5), 1);  // the thumbnail alone
    double covered = 0;
    for (const PatchArea& area : areas) {
        covered += (area.box[2] - area.box[0]) * (area.box[3] - area.box[1]);
    }
    EXPECT_NEAR(covered, 40 * 20, 1e-3);
}

TEST(CoverOf, patchesThatDoNotOverlapStayAsTheyAre) {
    const auto tiles = imageTokens(tiled(), 0, shares(), PatchView::Tiles);
    const auto areas = coverOf(tiles.patches);
    ASSERT_EQ(areas.size(), tiles.patches.size());
    for (std::size_t i = 0; i < areas.size(); ++i) {
        EXPECT_EQ(areas[i].box, tiles.patches[i].box);
        EXPECT_EQ(areas[i].share, tiles.patches[i].share);
    }
    EXPECT_TRUE(coverOf({}).empty());
}

// A grid of 7 columns over 100 pixels: edges of neighbours differ by rounding.
TEST(CoverOf, edgesThatDifferByRoundingDoNotOverlap) {
    std::vector<PatchToken> patches;
    for (int i = 0; i < 7; ++i) {
        const float left = 100.0F / 7 * static_cast<float>(i);
        patches.push_back({i, {left - 1e-4F, 0, left + 100.0F / 7 + 1e-4F, 50}, 0.5F});
    }
    EXPECT_EQ(coverOf(patches).size(), 7U);
    patches.push_back({7, {40, 10, 60, 20}, 1.0F});
    const auto areas = coverOf(patches);
    EXPECT_EQ(shareAt(areas, 50, 15), 1);
    EXPECT_EQ(shareAt(areas, 50, 30), 0.5F);
    EXPECT_EQ(shareAt(areas, 30, 15), 0.5F);
}

} // namespace ecokv::analysis
