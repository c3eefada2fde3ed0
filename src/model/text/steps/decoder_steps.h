#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The steps a decoder can have, by their names in tokenizer.json.

#include "model/text/decoder.h"

namespace ecokv::model {

/// Throws Error{BadInput} for a type that is not known.
std::shared_ptr<const Decoder::Step> makeDecoderStep(const JsonObject& step);
/// What stands for a decoder where the file has none.
std::shared_ptr<const Decoder::Step> makeSpaceJoiner();

} // namespace ecokv::model
