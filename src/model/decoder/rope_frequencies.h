#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Inverse frequencies of the rotary types default, linear, llama3 and yarn, in the f32 steps in
// which transformers computes them.

#include "model/json_file.h"
#include "model/model_info.h"

#include <cstdint>

namespace ecokv::model {

struct RopeInput {
    const JsonObject& rope; ///< the dictionary with `rope_type`, `factor`, ...
    double theta = 0.0;
    std::int32_t rotaryDim = 0;        ///< dims that turn, even
    std::int64_t maxPositions = 0;     ///< max_position_embeddings
    std::int64_t trainedPositions = 0; ///< original_max_position_embeddings
};

/// Frequencies and attention scaling. Throws Error{BadInput} for a type that is not supported
/// (dynamic, longrope, ...), by name.
RopeSettings ropeSettings(const RopeInput& input);

} // namespace ecokv::model
