// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/model_config.h"

#include "model/config_values.h"

#include <algorithm>

namespace ecokv::model {

std::vector<TokenId> readEndTokens(const std::filesystem::path& folder, const ModelConfig& config) {
    std::vector<TokenId> ids;
    const auto path = folder / "generation_config.json";
    if (std::filesystem::exists(path)) {
        const Json generation = readJsonFile(path);
        ids = tokenList(JsonObject(generation, path.string()), "eos_token_id");
    }
    if (ids.empty()) {
        ids = config.endTokens;
    }
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

} // namespace ecokv::model
