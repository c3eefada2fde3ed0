#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How the keys of a trace were rotated, under the names of the schema: one rotary embedding has no
// number (rope_axes), more have one (rope_axes_1). Throws Error{BadInput}. Hold a LibraryLock.

#include "trace/hdf5/library.h"
#include "trace/trace_records.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::trace {

/// "rope_axes", "rope_axes_1", ...
std::string ropeName(const std::string& what, std::size_t index);

/// Ropes and rope_of_layer of an opened /model whose attributes `model` holds already.
void readRopes(hid_t group, ModelRecord& model);
/// [token] of /prompt/rope_positions, or empty.
std::vector<std::array<std::int32_t, 3>> readRopePositions(hid_t file, std::int64_t tokens);
/// All of it, checked; none where the file does not say.
std::optional<RotationRecord> readRotation(hid_t file, const Dimensions& dimensions);

} // namespace ecokv::trace
