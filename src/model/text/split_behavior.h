#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a Split pre-tokeniser does with the text that matches its pattern, as `tokenizers` defines.

#include "model/json_file.h"
#include "model/text/pre_tokenizer.h"
#include "model/text/text_pattern.h"

#include <cstdint>
#include <vector>

namespace ecokv::model {

enum class SplitBehavior : std::uint8_t {
    Removed,            ///< matches are dropped
    Isolated,           ///< matches are words of their own
    MergedWithPrevious, ///< a match ends the word before it
    MergedWithNext,     ///< a match begins the word behind it
    Contiguous,         ///< neighbouring matches form one word
};

/// Reads the key `behavior`.
SplitBehavior parseSplitBehavior(const JsonObject& step);

/// Cuts [0, size) at `matches`; empty words are left out. `invert` swaps matched and unmatched.
std::vector<TextSpan> splitSpans(std::size_t size, const std::vector<TextSpan>& matches,
                                 SplitBehavior behavior, bool invert);

/// Appends the parts of `word` at `spans`.
void appendParts(const Word& word, const std::vector<TextSpan>& spans, std::vector<Word>& parts);

} // namespace ecokv::model
