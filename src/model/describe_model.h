#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Fills ModelInfo from values that were already read; describeModel (model.h) reads them itself.

#include "model/model_config.h"
#include "model/model_info.h"
#include "model/prompt_builder.h"
#include "model/weights/checkpoint.h"

#include <filesystem>

namespace ecokv::model {

/// What is known of an opened folder.
struct FolderParts {
    const ModelConfig& config;
    const Checkpoint& checkpoint;
    const PromptBuilder& prompts;
};

/// Throws Error{BadInput} when config.json names more layers than the weights can hold.
ModelInfo makeModelInfo(const std::filesystem::path& folder, const FolderParts& parts);

} // namespace ecokv::model
