// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/stated_tokens.h"

#include "base/error.h"
#include "model/file_advice.h"
#include "model/json_file.h"

#include <fmt/format.h>

namespace ecokv::model {

void requireStatedTokens(const std::filesystem::path& folder, const StatedTokens& expected) {
    const auto path = folder / "processor_config.json";
    if (!std::filesystem::exists(path)) {
        return;
    }
    const Json json = readJsonFile(path);
    const JsonObject processor(json, path.string());
    const auto stated = processor.findInteger(expected.key);
    if (stated && *stated != expected.tokens) {
        throwBadInput(fmt::format("{} = {}, but the tower of {} gives {} tokens for {}.",
                                  processor.where(expected.key), *stated, expected.configPath,
                                  expected.tokens, expected.what),
                      kMixedFilesAdvice);
    }
}

} // namespace ecokv::model
