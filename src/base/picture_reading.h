#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How the bytes of a picture file become pixels where there is a choice: what the CLI parses, the
// Run page edits, the decoder obeys and a trace records. Values; any thread.

#include <cstdint>
#include <optional>
#include <string>

namespace ecokv {

struct RgbColour {
    std::uint8_t red = 0, green = 0, blue = 0;

    bool operator==(const RgbColour&) const = default;
};

/// "white", "black" or "#rrggbb". Throws Error{Usage} naming these.
RgbColour parseColour(const std::string& text);
std::string colourText(const RgbColour& colour); ///< "#rrggbb"

struct PictureReading {
    bool applyOrientation = true; ///< turn by the EXIF tag (field case F058)
    /// What shows through transparent pixels. Nothing: alpha is dropped and the colours below it
    /// show, as in transformers (field case F062).
    std::optional<RgbColour> blendAlpha;

    bool operator==(const PictureReading&) const = default;
};

} // namespace ecokv
