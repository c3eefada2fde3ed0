#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The text part of config.json (text_config, or the whole file of a model without eyes): the one
// decoder that all families share, set up for Llama, Mistral, Qwen2, Qwen3, Gemma 3 and the text
// parts of the Qwen-VL models, with the defaults transformers 5 has for each.

#include "model/json_file.h"
#include "model/model_config.h"

namespace ecokv::model {

/// Throws Error{BadInput} naming the key; attention kinds that are not supported are named.
DecoderConfig parseDecoder(const JsonObject& text);

} // namespace ecokv::model
