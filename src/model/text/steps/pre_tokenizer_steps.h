#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The steps a pre-tokeniser can have, by their names in tokenizer.json.

#include "model/text/pre_tokenizer.h"

namespace ecokv::model {

/// Appends what `step` does; throws Error{BadInput} for a type that is not known.
void addPreTokenizerSteps(const JsonObject& step,
                          std::vector<std::shared_ptr<const PreTokenizer::Step>>& steps);

} // namespace ecokv::model
