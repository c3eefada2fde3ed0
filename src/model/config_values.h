#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Values that several parts of config.json have in common, checked. All throw Error{BadInput}
// naming file and key.

#include "model/json_file.h"
#include "model/model_config.h"

namespace ecokv::model {

inline constexpr const char* kSupportedModels =
    "Supported are folders of LlavaForConditionalGeneration (LLaVA-1.5 layout) with a "
    "clip_vision_model tower and a llama, mistral or qwen2 decoder.";

/// An extent: at least 1.
std::int32_t size(const JsonObject& object, const char* key, std::int64_t fallback);
/// A small number of a norm.
double epsilon(const JsonObject& object, const char* key, double fallback);
Activation activation(const JsonObject& object, const char* key, const char* fallback);
/// For a `model_type` that is not supported as `part` of a model.
[[noreturn]] void refuseModelType(const JsonObject& object, const char* part);

} // namespace ecokv::model
