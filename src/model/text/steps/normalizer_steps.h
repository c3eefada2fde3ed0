#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The steps a normaliser can have, by their names in tokenizer.json.

#include "model/text/normalizer.h"

namespace ecokv::model {

/// Throws Error{BadInput} for a type that is not known.
std::shared_ptr<const Normalizer::Step> makeNormalizerStep(const JsonObject& step);

} // namespace ecokv::model
