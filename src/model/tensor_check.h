#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Whether the weights fit config.json, told from the headers of their files alone.

#include <memory>
#include <string>

namespace ecokv::model {

class Checkpoint;
class Family;
class VisionEncoder;

/// Takes every tensor the family asks for without reading one. Throws Error{BadInput} with all that
/// are missing, left over or of another shape. Returns the tower, without weights; null if the
/// family has none.
std::shared_ptr<const VisionEncoder>
checkTensors(const Family& family, const Checkpoint& checkpoint, const std::string& folder);

} // namespace ecokv::model
