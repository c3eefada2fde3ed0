#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Rotary settings of a text config, in both spellings: `rope_theta` with `rope_scaling`, and the
// newer `rope_parameters`, nested per layer type where sliding layers turn otherwise (field cases
// F091, F092). Types that are not supported are refused by name.

#include "model/decoder/decoder_traits.h"
#include "model/model_config.h"

namespace ecokv::model {

/// Needs heads, head size, positions and sliding windows of `decoder`.
LayerRopes readRopes(const JsonObject& text, const DecoderTraits& traits,
                     const DecoderConfig& decoder);

} // namespace ecokv::model
