#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Special tokens that the files beside tokenizer.json name: tokenizer_config.json and, in older
// exports, special_tokens_map.json and added_tokens.json. Any thread.

#include "model/text/added_tokens.h"

#include <filesystem>
#include <vector>

namespace ecokv::model {

/// What transformers adds to a tokenizer whose tokenizer.json holds `known`, in its order: first
/// all of added_tokens_decoder by id, then the named tokens (bos_token, image_token, ...), then the
/// rest. Their ids are not read: a token that is in no vocabulary yet gets the next free one.
std::vector<AddedToken> namedTokens(const std::filesystem::path& folder,
                                    const std::vector<AddedToken>& known);

} // namespace ecokv::model
