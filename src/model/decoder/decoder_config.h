#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// text_config of a LLaVA folder: the Llama decoder and its near relatives, Mistral (sliding layers)
// and Qwen2 (biases, some sliding layers), with the defaults transformers 5 has for each.

#include "model/json_file.h"
#include "model/model_config.h"

namespace ecokv::model {

/// Throws Error{BadInput} naming the key; attention kinds that are not supported are named.
DecoderConfig parseDecoder(const JsonObject& text);

} // namespace ecokv::model
