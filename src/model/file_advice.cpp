// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/file_advice.h"

#include <filesystem>

#include <fmt/format.h>

namespace ecokv::model {

std::string restoreAdvice(const JsonObject& object, const char* key) {
    const std::string place = object.where(key); // "DIR/config.json: text_config.head_dim"
    return fmt::format("Set {} as in the {} that the model was published with, or download that "
                       "file again.",
                       place.substr(object.origin().size() + 2),
                       std::filesystem::path(object.origin()).filename().string());
}

} // namespace ecokv::model
