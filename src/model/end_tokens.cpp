// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/end_tokens.h"

#include "model/json_file.h"

#include <algorithm>

namespace ecokv::model {

namespace fs = std::filesystem;

namespace {

/// eos_token of tokenizer_config.json: a string, or an object with its `content`.
std::string endTokenText(const fs::path& folder) {
    const fs::path path = folder / "tokenizer_config.json";
    if (!fs::exists(path)) {
        return {};
    }
    const Json json = readJsonFile(path);
    const Json* token = JsonObject(json, path.string()).find("eos_token");
    if (token == nullptr) {
        return {};
    }
    return token->is_object() ? JsonObject(*token, path.string(), "eos_token").string("content", "")
           : token->is_string() ? token->get<std::string>()
                                : std::string();
}

} // namespace

std::vector<TokenId> endTokens(const fs::path& folder, const ModelConfig& config,
                               const Tokenizer& tokenizer) {
    std::vector<TokenId> ids = readEndTokens(folder, config);
    const std::string own = endTokenText(folder);
    if (const auto id = own.empty() ? std::nullopt : tokenizer.find(own)) {
        ids.push_back(*id);
    }
    std::ranges::sort(ids);
    const auto rest = std::ranges::unique(ids);
    ids.erase(rest.begin(), rest.end());
    return ids;
}

} // namespace ecokv::model
