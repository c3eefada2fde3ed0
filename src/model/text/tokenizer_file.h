#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A tokenizer.json cut into its small parts, which are parsed as usual, and the two large lists of
// its model, which stay text until the model reads them. Any thread.

#include "model/json_file.h"

#include <string>
#include <string_view>

namespace ecokv::model {

struct TokenizerFile {
    /// The whole file but for model.vocab and model.merges, which are null in it.
    Json json;
    /// Text of these two values, inside the text given; "" if the file has none.
    std::string_view vocabulary, merges;

    /// Throws Error{BadInput} with line and column if `text` is not JSON.
    static TokenizerFile parse(std::string_view text, const std::string& origin);
};

} // namespace ecokv::model
