#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a picture will take in the tower, for the doctor.

#include "base/tensor_view.h"
#include "model/prompt.h"

#include <cstdint>

namespace ecokv::model {

class VisionEncoder;

/// Bytes.
struct PictureMemory {
    std::int64_t held = 0;  ///< pictures as decoded and as the tower takes them, while a run lasts
    std::int64_t tower = 0; ///< what the tower holds at once at its peak, over all pictures
};

PictureMemory pictureMemory(const Prompt& prompt, const VisionEncoder& vision, DType compute);

} // namespace ecokv::model
