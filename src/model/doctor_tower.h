#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the doctor asks of the tower and of weights that are not read: whether all are there, and
// what a picture will take.

#include "base/tensor_view.h"
#include "model/prompt.h"

#include <cstdint>
#include <memory>
#include <string>

namespace ecokv::model {

class Checkpoint;
class Family;
class VisionEncoder;

/// Bytes.
struct PictureMemory {
    std::int64_t held = 0;  ///< pictures as decoded and as the tower takes them, while a run lasts
    std::int64_t tower = 0; ///< what the tower holds at once at its peak, over all pictures
};

/// Takes every tensor the family asks for without reading one. Throws Error{BadInput} with all that
/// are missing, left over or of another shape. Returns the tower, without weights; null if the
/// family has none.
std::shared_ptr<const VisionEncoder>
checkTensors(const Family& family, const Checkpoint& checkpoint, const std::string& folder);

PictureMemory pictureMemory(const Prompt& prompt, const VisionEncoder& vision, DType compute);

} // namespace ecokv::model
