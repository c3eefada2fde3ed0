#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Rotary settings of a text config, in both spellings: `rope_theta` with `rope_scaling`, and the
// newer `rope_parameters` (field cases F091, F092). Types other than default, linear and llama3 are
// refused by name.

#include "model/json_file.h"
#include "model/model_info.h"

#include <cstdint>

namespace ecokv::model {

RopeSettings parseRope(const JsonObject& text, std::int32_t headDim, std::int64_t maxPositions);

} // namespace ecokv::model
