// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/placement.h"
#include "model/image/tiles.h"

#include <gtest/gtest.h>

#include <array>

namespace ecokv::model {

namespace {

/// Of LLaVA-1.6, width x height; its file lists (height, width).
constexpr std::array<ImageSize, 5> kPublished{
    ImageSize{672, 336}, {336, 672}, {672, 672}, {336, 1008}, {1008, 336}};

TEST(Tiles, smallestCanvasThatHoldsThePictureWinsAndTiesGoToTheFirst) { // field case F049
    // All hold 336 x 336 whole; the first two waste the same 112,896 pixels.
    EXPECT_EQ(bestCanvas({336, 336}, kPublished), (ImageSize{672, 336}));
    // 500 x 500 is whole (effective 250,000) in 672 x 672 alone.
    EXPECT_EQ(bestCanvas({500, 500}, kPublished), (ImageSize{672, 672}));
}

TEST(Tiles, widthAndHeightAreNotSwapped) { // field case F050
    EXPECT_EQ(bestCanvas({400, 900}, kPublished), (ImageSize{336, 1008}));
    EXPECT_EQ(bestCanvas({900, 400}, kPublished), (ImageSize{1008, 336}));
}

TEST(Tiles, aCanvasTooFlatForAnyPixelIsStillChosen) {
    // 1 x 5000: a column of less than a pixel everywhere; the smallest canvas wastes least.
    EXPECT_EQ(bestCanvas({1, 5000}, kPublished), (ImageSize{672, 336}));
}

TEST(Tiles, pictureIsFittedWithBrokenPixelsRoundedUp) {
    // 1008 / 900 = 1.12 exceeds 336 / 400 = 0.84: height decides, width 900 * 0.84 = 756.
    EXPECT_EQ(fittedInto({900, 400}, {1008, 336}), (ImageSize{756, 336}));
    // 336 / 400 = 0.84 is less than 1008 / 900 = 1.12: width decides, height 900 * 0.84 = 756.
    EXPECT_EQ(fittedInto({400, 900}, {336, 1008}), (ImageSize{336, 756}));
    // 100 * 336 / 333 = 100.9.
    EXPECT_EQ(fittedInto({333, 100}, {336, 672}), (ImageSize{336, 101}));
}

TEST(Tiles, unpaddingCutsAsMuchAtEitherEnd) {
    // 24 * 3 x 24 cells for 900 x 400: 900 * 24 / 400 = 54 columns, 9 cut on either side.
    const CellCrop wide = unpadded({900, 400}, {72, 24});
    EXPECT_EQ(wide.left, 9);
    EXPECT_EQ(wide.columns, 54);
    EXPECT_EQ(wide.top, 0);
    EXPECT_EQ(wide.rows, 24);
    // 336 x 336 on 48 x 24 cells: 24 columns are left of 48.
    const CellCrop square = unpadded({336, 336}, {48, 24});
    EXPECT_EQ(square.left, 12);
    EXPECT_EQ(square.columns, 24);
    EXPECT_EQ(square.rows, 24);
    // An odd rest stays: 24 - 5 = 19 cells of padding, 9 cut on either side, 6 kept.
    EXPECT_EQ(unpadded({1000, 70}, {72, 24}).rows, 6);
    // So flat that no row of features is left: 1 * 72 / 1000 rounds down to nothing.
    EXPECT_EQ(unpadded({1000, 1}, {72, 24}).rows, 0);
}

TEST(Tiles, nearestArrangementWinsAndALargerOneNeedsPixelsToFillIt) {
    const ImageSize tile{448, 448};
    EXPECT_EQ(nearestTileGrid({448, 448}, tile, {}), (ImageSize{1, 1}));
    // 896 x 896 has more than half the pixels of 2 x 2, but not of 3 x 3 (903,168 > 802,816).
    EXPECT_EQ(nearestTileGrid({896, 896}, tile, {}), (ImageSize{2, 2}));
    // Ratio 2.25 lies between 2 (distance 0.25, also 4 x 2) and 2.5 (5 x 2, the same distance):
    // 900 x 400 fills neither 4 x 2 (802,816) nor 5 x 2 half, so the first stays.
    EXPECT_EQ(nearestTileGrid({900, 400}, tile, {}), (ImageSize{2, 1}));
    EXPECT_EQ(nearestTileGrid({2700, 1200}, tile, {}), (ImageSize{5, 2}));
    EXPECT_EQ(nearestTileGrid({400, 2800}, tile, {}), (ImageSize{1, 7}));
}

TEST(Tiles, limitsHold) {
    const ImageSize tile{448, 448};
    EXPECT_EQ(nearestTileGrid({4000, 400}, tile, {.least = 1, .most = 6}), (ImageSize{6, 1}));
    EXPECT_EQ(nearestTileGrid({100, 100}, tile, {.least = 2, .most = 3}), (ImageSize{1, 2}));
    EXPECT_EQ(nearestTileGrid({100, 100}, tile, {.least = 5, .most = 4}), (ImageSize{1, 1}));
}

TEST(Tiles, areCutOutRowAfterRow) {
    Pixels image{std::vector<std::uint8_t>(3 * 2 * 4), {4, 2}}; // 4 wide, 2 high
    for (std::size_t i = 0; i < image.data.size(); ++i) {
        image.data[i] = static_cast<std::uint8_t>(i);
    }
    const std::vector<Pixels> tiles = splitTiles(image, {2, 1});
    ASSERT_EQ(tiles.size(), 4U);
    EXPECT_EQ(tiles[1].data, (std::vector<std::uint8_t>{2, 3, 10, 11, 18, 19}));
    EXPECT_EQ(tiles[2].data, (std::vector<std::uint8_t>{4, 5, 12, 13, 20, 21}));
}

TEST(Placement, boxesGoBackThroughEveryStep) {
    // 100 x 50 pixels are doubled, set into a canvas 10 to the right and 4 down; of it a tile that
    // begins at (64, 0) is halved.
    const Placement fitted{2.0, 2.0, -10.0, -4.0};
    const Placement cut = Placement{1.0, 1.0, 64.0, 0.0}.within(fitted);
    const Placement halved = Placement{0.5, 0.5}.within(cut);
    // (2, 4) of the halved tile = (4, 8) of the tile = (68, 8) of the canvas = (58, 4) fitted.
    EXPECT_EQ(halved.box(2, 4, 3, 6), (PatchBox{29.0F, 2.0F, 30.0F, 4.0F}));
}

TEST(Placement, tilesLieRowAfterRow) {
    // The fifth of tiles of 10 x 20 pixels, three in a row, is the second of the second row.
    EXPECT_EQ(tilePlacement(4, 3, 10, 20).box(0, 0, 10, 20),
              (PatchBox{10.0F, 20.0F, 20.0F, 40.0F}));
}

TEST(Placement, cellsComeRowAfterRow) {
    std::vector<ImageToken> tokens;
    addCells(tokens, {2.0, 1.0}, {2, 2, 4.0, 4.0, PatchRole::Thumbnail});
    ASSERT_EQ(tokens.size(), 4U);
    EXPECT_EQ(tokens[1].box, (PatchBox{2.0F, 0.0F, 4.0F, 4.0F}));
    EXPECT_EQ(tokens[2].box, (PatchBox{0.0F, 4.0F, 2.0F, 8.0F}));
    EXPECT_EQ(tokens[2].role, PatchRole::Thumbnail);
}

} // namespace

} // namespace ecokv::model
