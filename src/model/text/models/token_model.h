#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What turns words into ids: BPE or Unigram, as the key `model` of tokenizer.json says. Immutable;
// any thread may encode.

#include "base/ids.h"
#include "model/json_file.h"
#include "model/text/tokenizer_file.h"
#include "model/text/vocabulary.h"

#include <memory>
#include <string_view>
#include <vector>

namespace ecokv::model {

class TokenModel {
public:
    virtual ~TokenModel() = default;

    /// Appends the ids of one word, which is not empty.
    virtual void encodeWord(std::string_view word, std::vector<TokenId>& ids) const = 0;
    virtual const Vocabulary& vocabulary() const = 0;
};

/// Throws Error{BadInput} for kinds of model that are not supported.
std::unique_ptr<const TokenModel> readTokenModel(const JsonObject& model,
                                                 const TokenizerFile& file);

} // namespace ecokv::model
