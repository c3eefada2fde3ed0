#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The kind of attention of each layer: written in `layer_types`, or implied by the family's rule
// (field case F034).

#include "model/decoder/decoder_traits.h"
#include "model/model_config.h"

namespace ecokv::model {

/// Sets sliding windows and linear layers of `decoder`, whose number of layers is known. Throws
/// Error{BadInput} naming kinds of attention that are not supported.
void readLayerTypes(const JsonObject& text, const DecoderTraits& traits, DecoderConfig& decoder);

} // namespace ecokv::model
