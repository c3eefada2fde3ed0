#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Values that several parts of config.json have in common, checked. All throw Error{BadInput}
// naming file and key.

#include "model/json_file.h"
#include "model/model_config.h"

namespace ecokv::model {

/// An extent: at least 1.
std::int32_t size(const JsonObject& object, const char* key, std::int64_t fallback);
/// A small number of a norm.
double epsilon(const JsonObject& object, const char* key, double fallback);
Activation activation(const JsonObject& object, const char* key, const char* fallback);
/// A number, a list of numbers, or nothing (field case F120).
std::vector<TokenId> tokenList(const JsonObject& object, const char* key);
/// The token that stands for pictures, under either of its spellings (`image_token_index` in older
/// exports, `image_token_id`).
TokenId imageToken(const JsonObject& config, TokenId fallback);
/// Any token with a role, "boi_token" for `boi_token_index` or `boi_token_id`.
TokenId tokenOf(const JsonObject& config, const std::string& role, TokenId fallback);
/// For a `model_type` that is not supported as `part` of a model.
[[noreturn]] void refuseModelType(const JsonObject& object, const char* part,
                                  const char* supported);

} // namespace ecokv::model
