#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The tokens of one picture as they lie in it: patches of the whole picture or of its tiles, those
// of a thumbnail (a small copy whose patches cover much more), and tokens without a place. Pure
// functions; pixels of the picture as decoded.

#include "analysis/trace_document.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ecokv::analysis {

enum class PatchRole : std::uint8_t { Patch = 0, Newline = 1, Separator = 2, Thumbnail = 3 };

/// What `role` of a PromptRecord means; unknown numbers are plain patches.
PatchRole patchRoleOf(std::uint8_t role);

/// Which tokens of a picture are looked at.
enum class PatchView : std::uint8_t {
    Tiles,     ///< the picture or its tiles; the thumbnail where there is nothing else
    Thumbnail, ///< the thumbnail; the tiles where there is none
    Both,      ///< tiles and thumbnail together
};

struct PatchToken {
    std::int64_t token = 0;
    std::array<float, 4> box{}; ///< x0, y0, x1, y1, not empty
    float share = 0;            ///< of SurvivalResult
    PatchRole role = PatchRole::Patch;
};

/// Tokens of one kind: how many there are and how many of them survive.
struct TokenCount {
    std::int64_t all = 0, kept = 0;
};

struct ImageTokens {
    std::vector<PatchToken> patches; ///< of the view, in prompt order
    bool hasTiles = false;           ///< patches of the picture or its tiles, with a place
    bool hasThumbnail = false;       ///< of a thumbnail, with a place
    TokenCount newlines, separators; ///< never have a place
    TokenCount unplaced;             ///< patches without a place: padding, or an unknown one
};

/// `share` [token] as survival() gives it. Throws Error{Usage} for a picture the trace lacks.
ImageTokens imageTokens(const TraceDocument& document, std::int64_t image,
                        std::span<const float> share, PatchView view);

/// Whether a picture has both tiles and a thumbnail.
bool seesPicturesTwice(const TraceDocument& document);

/// A part of the picture with the largest share of the tokens that see it.
struct PatchArea {
    std::array<float, 4> box{};
    float share = 0;
};

/// What `patches` cover together, cut so that no two areas overlap: a pixel counts as kept where
/// any token that sees it is. Patches that overlap nowhere come back as they are.
std::vector<PatchArea> coverOf(std::span<const PatchToken> patches);

} // namespace ecokv::analysis
