#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// EXIF orientation: reading the tag (1 to 8) and turning the pixels accordingly (field case F058).

#include "model/image/raw_image.h"

#include <string>

namespace ecokv::model {

/// 1 if there is none. A broken block or value gives 1 and a note that names `name`.
int readOrientation(const std::string& exif, const std::string& name,
                    std::vector<std::string>& notes);
/// Turns `image` upright; width and height change places for 5 to 8.
void applyOrientation(RawImage& image, int orientation);

} // namespace ecokv::model
