#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Where generation stops (field case F120): what generation_config.json says, else config.json,
// and the tokenizer's own end token.

#include "model/model_config.h"
#include "model/text/tokenizer.h"

#include <filesystem>
#include <vector>

namespace ecokv::model {

/// Ascending, without duplicates; empty if nothing names one. Throws Error{BadInput}.
std::vector<TokenId> endTokens(const std::filesystem::path& folder, const ModelConfig& config,
                               const Tokenizer& tokenizer);

} // namespace ecokv::model
