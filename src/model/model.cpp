// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/model.h"

#include "base/error.h"
#include "model/llava_model.h"
#include "model/model_config.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

using OpenFunction = std::unique_ptr<Model> (*)(const std::filesystem::path&, const LoadOptions&);

/// One line per family.
struct Family {
    const char* name; ///< ModelConfig::family
    OpenFunction open;
};

constexpr Family kFamilies[] = {
    {"llava", &LlavaModel::open},
};

} // namespace

std::unique_ptr<Model> Model::open(const std::filesystem::path& folder,
                                   const LoadOptions& options) {
    const ModelConfig config = readModelConfig(folder);
    std::string known;
    for (const Family& family : kFamilies) {
        if (config.family == family.name) {
            return family.open(folder, options);
        }
        known += fmt::format("{}{}", known.empty() ? "" : ", ", family.name);
    }
    throwBadInput(fmt::format("{} is of the family \"{}\", which is not supported.",
                              folder.string(), config.family),
                  fmt::format("Supported: {}.", known));
}

} // namespace ecokv::model
