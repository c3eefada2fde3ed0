// SPDX-License-Identifier: GPL-3.0-or-later
// Sizes, patches, windows and positions of Qwen's processors, against published rules and by hand.

#include "base/error.h"
#include "model/families/qwen_vl.h"
#include "model/image/qwen_image.h"
#include "model/vision/patch_windows.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace ecokv::model {

namespace {

QwenImageConfig limits(std::int64_t least, std::int64_t most, std::int32_t patch = 14) {
    QwenImageConfig config;
    config.patchSize = patch;
    config.minPixels = least;
    config.maxPixels = most;
    return config;
}

ImageSize resizedTo(std::int32_t width, std::int32_t height, const QwenImageConfig& config) {
    return smartResize({width, height}, config);
}

const QwenImageConfig kDefault = limits(56 * 56, 28 * 28 * 1280);

Picture pictureOf(std::int32_t width, std::int32_t height, std::uint8_t value) {
    Picture picture;
    picture.path = "a.png";
    picture.width = width;
    picture.height = height;
    picture.pixels.assign(static_cast<std::size_t>(3 * width * height), value);
    return picture;
}

/// Text, the marker's tokens and text again: `before` ids, then the pictures, each framed.
Prompt promptOf(const std::vector<TokenId>& ids,
                const std::vector<std::array<std::int32_t, 3>>& grids) {
    Prompt prompt;
    prompt.tokenIds = ids;
    for (const auto& grid : grids) {
        prompt.pictureInputs.push_back({{}, {}, grid});
    }
    return prompt;
}

constexpr TokenId kImage = 90, kStart = 91, kEnd = 92;
constexpr QwenVlTokens kTokens{kImage, kStart};

} // namespace

TEST(QwenImage, halvesRoundToTheEvenMultiple) { // F039
    const QwenImageConfig free = limits(1, 1 << 30);
    EXPECT_EQ(resizedTo(70, 70, free), (ImageSize{56, 56}));
    EXPECT_EQ(resizedTo(98, 98, free), (ImageSize{112, 112}));
    EXPECT_EQ(resizedTo(42, 71, free), (ImageSize{56, 84}));
    EXPECT_EQ(resizedTo(80, 112, limits(1, 1 << 30, 16)), (ImageSize{64, 128}));
}

TEST(QwenImage, limitsOfTheCheckpointDecideTheSize) { // F044
    EXPECT_EQ(resizedTo(1920, 1080, limits(3136, 1003520)), (ImageSize{1316, 728}));
    EXPECT_EQ(resizedTo(1920, 1080, limits(3136, 12845056)), (ImageSize{1932, 1092}));
    // F073: an enormous photo stays within the limit.
    EXPECT_EQ(resizedTo(4000, 4000, kDefault), (ImageSize{980, 980}));
}

TEST(QwenImage, sidesBelowOneTokenAreScaledUp) { // F041, F043, F065
    EXPECT_EQ(resizedTo(28, 26, kDefault), (ImageSize{84, 56}));
    EXPECT_EQ(resizedTo(1, 1, kDefault), (ImageSize{56, 56}));
    EXPECT_EQ(resizedTo(1000, 14, kDefault), (ImageSize{476, 28})); // 17 tokens, not 36
}

TEST(QwenImage, aStripOver200TimesAsLongAsWideIsRefused) { // F041
    EXPECT_NO_THROW(qwenPatches(pictureOf(200, 1, 0), kDefault));
    try {
        qwenPatches(pictureOf(201, 1, 0), kDefault);
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("a.png (201 x 1)"), std::string::npos);
    }
}

TEST(QwenImage, withoutResizingTheSidesMustFit) {
    QwenImageConfig config = kDefault;
    config.resizes = false;
    EXPECT_EQ(qwenPatches(pictureOf(56, 28, 0), config).grid.patches(), 8);
    EXPECT_THROW(qwenPatches(pictureOf(57, 28, 0), config), Error);
}

TEST(QwenImage, patchesOfOneTokenStandTogetherAndFramesRepeat) {
    QwenImageConfig config = limits(1, 1 << 20, 1); // patches of one pixel: 2 x 2 a token
    config.normalization.normalizes = config.normalization.rescales = false;
    Picture picture = pictureOf(4, 2, 0);
    for (std::size_t i = 0; i < picture.pixels.size(); ++i) {
        picture.pixels[i] = static_cast<std::uint8_t>(i); // pixel p has 3p, 3p + 1, 3p + 2
    }
    const QwenPatches patches = qwenPatches(picture, config);
    ASSERT_EQ(patches.values.size(), 8U * 6U);
    std::vector<float> firstChannel;
    for (std::size_t patch = 0; patch < 8; ++patch) {
        firstChannel.push_back(patches.values[6 * patch] / 3);
        for (std::size_t channel = 0; channel < 3; ++channel) { // both frames are the picture
            EXPECT_EQ(patches.values[6 * patch + 2 * channel],
                      patches.values[6 * patch + 2 * channel + 1]);
        }
        EXPECT_EQ(patches.values[6 * patch + 4], patches.values[6 * patch] + 2); // blue
    }
    EXPECT_EQ(firstChannel, (std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7}));
}

TEST(PatchWindows, windowsAreSmallerAtTheRightAndLowerEdge) {
    // 3 x 5 image tokens in windows of 2 x 2: 4 4 2 / 2 2 1 tokens of 4 patches.
    const PatchWindows windows = windowsOf({6, 10, 2}, 2);
    EXPECT_EQ(windows.order, (std::vector<std::int64_t>{0, 1, 5, 6, 2, 3, 7, 8, 4, 9, //
                                                        10, 11, 12, 13, 14}));
    EXPECT_EQ(windows.runs, (std::vector<AttentionRun>{{2, 16}, {3, 8}, {1, 4}}));
}

TEST(PatchWindows, aPictureThatDividesHasNoEmptyWindows) {
    EXPECT_EQ(windowsOf({8, 8, 2}, 2).runs, (std::vector<AttentionRun>{{4, 16}}));
    EXPECT_EQ(windowsOf({2, 2, 2}, 4).runs, (std::vector<AttentionRun>{{1, 4}}));
}

TEST(QwenPositions, picturesHaveRowsAndColumns) { // F067
    // 3 text, 2 x 3 image tokens, 2 text: the picture at time 3, text goes on at 6.
    const Prompt prompt = promptOf(
        {1, 2, kStart, kImage, kImage, kImage, kImage, kImage, kImage, kEnd, 3}, {{1, 4, 6}});
    const std::vector<RopePosition> expected{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 3, 3},
                                             {3, 3, 4}, {3, 3, 5}, {3, 4, 3}, {3, 4, 4},
                                             {3, 4, 5}, {6, 6, 6}, {7, 7, 7}};
    EXPECT_EQ(qwenRopePositions(prompt, kTokens, 2), expected);
    EXPECT_EQ(expected.back()[0] + 1 - prompt.tokens(), -3);
}

TEST(QwenPositions, aTallPictureTakesAsManyPositionsAsRows) {
    const Prompt prompt = promptOf({kStart, kImage, kImage, kImage, kEnd, kStart, kImage, kEnd},
                                   {{1, 6, 2}, {1, 2, 2}});
    const std::vector<RopePosition> expected{{0, 0, 0}, {1, 1, 1}, {1, 2, 1}, {1, 3, 1},
                                             {4, 4, 4}, {5, 5, 5}, {6, 6, 6}, {7, 7, 7}};
    EXPECT_EQ(qwenRopePositions(prompt, kTokens, 2), expected);
}

TEST(QwenPositions, aPictureWithoutItsFrameCountsAsText) {
    const Prompt prompt = promptOf({5, kImage, kImage, 6}, {{1, 2, 4}});
    EXPECT_EQ(qwenRopePositions(prompt, kTokens, 2),
              (std::vector<RopePosition>{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 3, 3}}));
    EXPECT_TRUE(qwenRopePositions(promptOf({5, 6}, {}), kTokens, 2).empty());
}

} // namespace ecokv::model
