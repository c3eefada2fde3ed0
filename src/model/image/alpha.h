#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Transparent pixels: dropped as the reference does, or blended (field case F062).

#include "base/picture_reading.h"
#include "model/image/raw_image.h"

#include <optional>
#include <string>

namespace ecokv::model {

/// Takes the alpha plane out of `image`. With a colour, that one shows through, rounded as PIL's
/// alpha_composite rounds. Returns what a trace says of it: "none" where no pixel is transparent,
/// "dropped" or "blended on #rrggbb".
std::string resolveAlpha(RawImage& image, const std::optional<RgbColour>& background);

} // namespace ecokv::model
