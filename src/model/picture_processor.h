#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How a family turns a picture into pixels for its tower and tokens for its decoder, with the box
// in the source picture that each image token stands for. Immutable; any thread.

#include "model/prompt.h"

#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ecokv::model {

using PatchBox = std::array<float, 4>; ///< x0, y0, x1, y1 in source pixels
inline constexpr float kNoCoordinate = std::numeric_limits<float>::quiet_NaN();
inline constexpr PatchBox kNoBox{kNoCoordinate, kNoCoordinate, kNoCoordinate, kNoCoordinate};

/// One image token: where it comes from.
struct ImageToken {
    PatchBox box = kNoBox; ///< may reach outside the picture where it was padded
    PatchRole role = PatchRole::Patch;
};

/// What one picture becomes.
struct PreparedPicture {
    PictureInput input; ///< for the tower
    /// What stands in the prompt's text instead of the marker: wrappers, separators, and the
    /// string of the image token once for every entry of `tokens`.
    std::string text;
    std::vector<ImageToken> tokens;                   ///< in the order of `text`
    std::int32_t resizedWidth = 0, resizedHeight = 0; ///< what the tower saw, pixels, tiles joined
    std::int32_t gridColumns = 0, gridRows = 0;       ///< of image tokens; 0 = not one grid
};

class PictureProcessor {
public:
    virtual ~PictureProcessor() = default;

    /// File that the settings came from.
    virtual const std::string& source() const = 0;
    /// What stands for a picture in a chat template and in a plain prompt ("<image>").
    virtual const std::string& marker() const = 0;
    /// What stands for a video in the family's templates; "" if nothing does. Videos are not read.
    virtual std::string videoMarker() const { return {}; }
    /// Prepares one picture of `count` in the prompt. Throws Error{BadInput} naming the picture,
    /// its size and what would fit.
    virtual PreparedPicture prepare(const Picture& picture, std::size_t count) const = 0;
    /// Rotary positions (t, h, w) of all tokens for families whose pictures have rows and columns
    /// (M-RoPE, field case F067). Empty: a token's position is its number.
    virtual std::vector<RopePosition> ropePositions(const Prompt& /*prompt*/) const { return {}; }
    /// In words, how the size that the tower sees is found, and where it is rounded: what rules
    /// that disagree are told apart by (field case F043).
    virtual std::string sizeRule() const = 0;
    /// Lines for people about sizes and limits: label, value ("Picture", "576 tokens, ...").
    virtual std::vector<std::pair<std::string, std::string>> describe() const = 0;
};

} // namespace ecokv::model
