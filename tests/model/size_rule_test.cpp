// SPDX-License-Identifier: GPL-3.0-or-later
// What a trace and the doctor say of how pictures get their size (field case F043).
#include "model/image/anyres_processor.h"
#include "model/image/clip_processor.h"
#include "model/image/got_ocr2_processor.h"
#include "model/image/idefics3_processor.h"
#include "model/image/qwen_image.h"

#include <gtest/gtest.h>

namespace ecokv::model {

TEST(SizeRule, ofClipSaysWhichSideAndWhatIsCut) {
    ClipProcessorConfig config;
    config.size = {60, 100};
    EXPECT_EQ(sizeRule(config), "stretched to 60 x 100 pixels; 224 x 224 pixels cut from the "
                                "middle, offsets rounded down");
    config.padsToSquare = true;
    config.shortestEdge = 336;
    config.crops = false;
    EXPECT_EQ(sizeRule(config),
              "padded to a square with the mean colour, short side to 336 pixels, "
              "the other in proportion, rounded down");
    config.resizes = config.padsToSquare = false;
    EXPECT_EQ(sizeRule(config), "not resized");
}

TEST(SizeRule, ofTilesSaysHowAGridIsChosen) {
    AnyResConfig anyRes;
    anyRes.baseSize = {336, 336};
    anyRes.tileSide = 336;
    anyRes.canvases = {{672, 336}, {336, 672}};
    EXPECT_EQ(sizeRule(anyRes),
              "the one of 2 canvases that keeps most of the picture and wastes least (the first of "
              "equals); fitted into it with the other side rounded up, tiles of 336 pixels; the "
              "whole picture stretched to 336 x 336 pixels");
    GotOcr2Config internVl;
    internVl.tile.size = {448, 448};
    internVl.limits = {1, 12};
    EXPECT_EQ(sizeRule(internVl),
              "stretched to the grid of 1 to 12 tiles of 448 x 448 pixels nearest "
              "to its shape (of equals the larger where the picture has over "
              "half its pixels)");
}

TEST(SizeRule, ofIdefics3SaysWhatIsRoundedUp) {
    Idefics3ProcessorConfig config;
    EXPECT_EQ(sizeRule(config), "longer side to 1456 pixels, the other in proportion, rounded down "
                                "and then up to an even number; both sides up to multiples of 364 "
                                "pixels, cut into tiles, and the whole as one more");
    config.longestEdge = 0;
    config.size = {50, 70};
    config.splits = false;
    EXPECT_EQ(sizeRule(config),
              "stretched to 50 x 70 pixels; stretched to one tile of 364 x 364 pixels");
}

TEST(SizeRule, ofQwenHasTheLimitsOfTheFolder) {
    QwenImageConfig config;
    config.minPixels = 3136;
    config.maxPixels = 12845056;
    EXPECT_EQ(sizeRule(config),
              "both sides to the nearest multiple of 28 pixels (halves to the even one); an area "
              "above 12845056 scaled down to it with sides rounded down (at least 28), one below "
              "3136 up to it with sides rounded up");
    config.resizes = false;
    EXPECT_EQ(sizeRule(config), "as it is; both sides must be multiples of 28 pixels");
}

} // namespace ecokv::model
