#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A prompt ready for the model: pictures decoded and preprocessed, text templated and tokenised,
// image tokens expanded, and for every token where it came from.

#include "base/ids.h"
#include "base/picture_reading.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::model {

enum class TokenKind : std::uint8_t { Text = 0, Special = 1, Image = 2 };
enum class PatchRole : std::uint8_t { Patch = 0, Newline = 1, Separator = 2, Thumbnail = 3 };

/// A picture as decoded: sRGB as stored, orientation and alpha as its reading says.
struct Picture {
    std::string path;                                 ///< as given
    std::string sha256;                               ///< of the file's bytes
    std::int32_t width = 0, height = 0;               ///< pixels, after orientation
    std::vector<std::uint8_t> pixels;                 ///< [height, width, 3] u8
    int orientation = 1;                              ///< EXIF tag that was applied, 1 = none
    std::string transparency = "none";                ///< or "dropped", "blended on #rrggbb"
    std::int32_t resizedWidth = 0, resizedHeight = 0; ///< what the tower saw, pixels
    std::int32_t gridColumns = 0, gridRows = 0;       ///< of image tokens
};

/// Pixels as a tower takes them.
struct PictureInput {
    std::vector<float> values;       ///< f32, normalised
    std::vector<std::int64_t> shape; ///< [3, height, width], [tile, 3, height, width] or, for
                                     ///< Qwen, [patch, values of a patch]
    /// Qwen: patches in time, rows and columns, before they are merged. Tiled families: 1, tile
    /// rows, tile columns of the grid that `values` begins with or ends with, as the family says.
    std::array<std::int32_t, 3> grid{1, 1, 1};
    /// Width and height of the picture itself: LLaVA-NeXT keeps the features that its shape covers.
    std::array<std::int32_t, 2> source{0, 0};
};

using RopePosition = std::array<std::int32_t, 3>; ///< time, row, column

struct PromptRequest {
    std::string text;                ///< the user's words
    std::vector<std::string> images; ///< paths, in order
    bool applyTemplate = true; ///< false: `text` is the whole prompt, with image markers in it
    PictureReading reading = {};
    bool leaveOpen = false; ///< end behind `text`, inside the user's turn: questions follow
};

struct Prompt {
    std::string text;                   ///< after the template, image markers not expanded
    std::vector<TokenId> tokenIds;      ///< [token], image tokens expanded
    std::vector<std::string> tokenText; ///< [token] decoded alone, bytes kept ("" for image tokens)
    std::vector<TokenKind> tokenKind;   ///< [token]
    std::vector<std::int32_t> imageIndex; ///< [token] -1 = none
    std::vector<std::array<float, 4>>
        patchBox; ///< [token] x0,y0,x1,y1 in source pixels, NaN = none
    /// [token] Separator: a token between the tiles of a picture, written by its processor.
    std::vector<PatchRole> patchRole;
    /// [token] 1 = written by the chat template, not by the user; special tokens count (F033).
    std::vector<std::uint8_t> fromTemplate;
    /// With `leaveOpen`: what the template puts between a question and its answer.
    std::string questionTail;
    std::vector<Picture> pictures;
    std::vector<PictureInput> pictureInputs; ///< [picture]
    /// [token] where rotary positions have rows and columns (M-RoPE); empty = the token's number.
    std::vector<RopePosition> ropePositions;
    std::vector<std::string> notes; ///< "EXIF tag of a.jpg is broken and was ignored"

    std::int64_t tokens() const { return static_cast<std::int64_t>(tokenIds.size()); }
    std::int64_t imageTokens() const;
    std::int64_t imageTokensOf(std::size_t picture) const;
};

} // namespace ecokv::model
