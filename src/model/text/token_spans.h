#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Where the tokens of an encoded text stand in it. Any thread.

#include "base/ids.h"
#include "model/text/text_pattern.h"

#include <optional>
#include <string_view>
#include <vector>

namespace ecokv::model {

class Tokenizer;

/// For each id the bytes of `text` that it stands for, told from the bytes of the tokens: from the
/// front and from the back as far as they agree with the text. Spaces that encoding added or took
/// away beside added tokens count for nothing. Tokens between, where a normaliser rewrote the text,
/// have no span (field case F111).
std::vector<std::optional<TextSpan>>
tokenSpans(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, std::string_view text);

} // namespace ecokv::model
