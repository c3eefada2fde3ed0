#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The size of a prepared picture, held against the square that a tower takes.

#include "model/image/pixels.h"

#include <cstdint>
#include <string>

namespace ecokv::model {

struct TowerSquare {
    std::int32_t side = 0;         ///< pixels
    const std::string& configPath; ///< where the tower is described
    const std::string& source;     ///< of the processor's settings
    const std::string& picture;    ///< path
};

/// Throws Error{BadInput} naming both sizes where they differ.
void requireSize(const TowerSquare& expected, const ImageSize& prepared);

} // namespace ecokv::model
