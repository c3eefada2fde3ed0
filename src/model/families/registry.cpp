// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "model/config_values.h"
#include "model/families/family.h"
#include "model/file_advice.h"
#include "model/vision/vision_encoder.h"
#include "model/weights/foreign_files.h"

#include <fmt/format.h>

#include <algorithm>

namespace ecokv::model {

namespace {

struct Entry {
    std::string_view architecture; ///< in `architectures` of config.json
    std::string_view modelType;    ///< stands in where `architectures` is missing
    ReadFamily read;
};

/// One line per architecture.
constexpr Entry kEntries[] = {
    {"LlavaForConditionalGeneration", "llava", &readLlava},
    {"Gemma3ForConditionalGeneration", "gemma3", &readGemma3},
    {"Idefics3ForConditionalGeneration", "idefics3", &readIdefics3},
    {"SmolVLMForConditionalGeneration", "smolvlm", &readIdefics3},
    {"LlavaNextForConditionalGeneration", "llava_next", &readLlavaNext},
    {"InternVLForConditionalGeneration", "internvl", &readInternVl},
    {"Qwen2VLForConditionalGeneration", "qwen2_vl", &readQwen2Vl},
    {"Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", &readQwen2_5Vl},
    {"Qwen3VLForConditionalGeneration", "qwen3_vl", &readQwen3Vl},
    {"Qwen3_5ForConditionalGeneration", "qwen3_5", &readQwen35},
    {"LlamaForCausalLM", "llama", &readTextModel},
    {"MistralForCausalLM", "mistral", &readTextModel},
    {"Qwen2ForCausalLM", "qwen2", &readTextModel},
    {"Qwen3ForCausalLM", "qwen3", &readTextModel},
    {"Qwen3_5ForCausalLM", "qwen3_5_text", &readTextModel},
    {"Gemma3ForCausalLM", "gemma3_text", &readTextModel},
};

std::optional<DType> storedDType(const JsonObject& config) {
    for (const char* key : {"dtype", "torch_dtype"}) {
        if (const auto name = config.findString(key)) {
            for (const DType dtype : {DType::F32, DType::BF16, DType::F16}) {
                if (*name == dtypeName(dtype)) {
                    return dtype;
                }
            }
        }
    }
    return std::nullopt;
}

std::string architectureOf(const JsonObject& config) {
    const Json* list = config.find("architectures");
    if (list != nullptr && list->is_array() && !list->empty() && list->front().is_string()) {
        return list->front().get<std::string>();
    }
    return {};
}

const Entry& entryOf(const JsonObject& config) {
    const std::string architecture = architectureOf(config);
    const std::string type = config.string("model_type", "");
    for (const Entry& entry : kEntries) {
        if (architecture.empty() ? type == entry.modelType : architecture == entry.architecture) {
            return entry;
        }
    }
    throwBadInput(fmt::format("{} describes a {} (model_type \"{}\"), which is not supported.",
                              config.origin(),
                              architecture.empty() ? "model without `architectures`" : architecture,
                              type),
                  fmt::format("Supported are {}.", supportedArchitectures()));
}

/// Packed weights come with scales and layouts that are not applied here.
void refuseQuantized(const JsonObject& config) {
    const auto quantization = config.findObject("quantization_config");
    if (quantization) {
        throwBadInput(fmt::format("{} says that the weights are quantised (\"{}\"), which is not "
                                  "supported.",
                                  config.origin(), quantization->string("quant_method", "unknown")),
                      "Get the model in bfloat16, float16 or float32; `dequantize()` of "
                      "transformers makes one of many quantised models.");
    }
}

} // namespace

std::unique_ptr<PictureProcessor> Family::openProcessor(const std::filesystem::path& /*folder*/,
                                                        const Tokenizer& /*tokenizer*/) const {
    return nullptr;
}

std::unique_ptr<VisionEncoder> Family::takeVision(WeightLoader& /*loader*/) const {
    return nullptr;
}

std::string Family::imageTokenText(const Tokenizer& tokenizer) const {
    if (!tokenizer.knows(m_config.imageToken)) {
        throwBadInput(fmt::format("{} gives pictures the token id {}, but {} has no such token.",
                                  m_config.path, m_config.imageToken, tokenizer.origin()),
                      kMixedFilesAdvice);
    }
    return tokenizer.tokenString(m_config.imageToken);
}

std::string supportedArchitectures() {
    std::string names;
    for (const Entry& entry : kEntries) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.architecture);
    }
    return names;
}

std::unique_ptr<Family> parseFamily(const std::string& json, const std::string& origin) {
    const Json root = parseJson(json, origin);
    const JsonObject config(root, origin);
    const Entry& entry = entryOf(config);
    refuseQuantized(config);
    ConfigFile file{config, {}};
    file.shared.architecture = entry.architecture;
    file.shared.path = origin;
    file.shared.json = json;
    file.shared.dtype = storedDType(config);
    file.shared.endTokens = tokenList(config, "eos_token_id");
    if (const auto text = config.findObject("text_config"); text && file.shared.endTokens.empty()) {
        file.shared.endTokens = tokenList(*text, "eos_token_id");
    }
    return entry.read(file);
}

std::unique_ptr<Family> openFamily(const std::filesystem::path& folder) {
    requireModelFolder(folder);
    const auto path = folder / "config.json";
    return parseFamily(readTextFile(path), path.string());
}

} // namespace ecokv::model
