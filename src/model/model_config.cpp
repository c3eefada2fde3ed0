// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/model_config.h"

#include "base/error.h"
#include "model/config_values.h"
#include "model/decoder_config.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

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

/// A number, a list of numbers, or nothing (field case F120).
std::vector<TokenId> tokenList(const JsonObject& object, const char* key) {
    const Json* value = object.find(key);
    if (value == nullptr) {
        return {};
    }
    std::vector<TokenId> ids;
    for (const Json& id : value->is_array() ? *value : Json::array({*value})) {
        if (!id.is_number_integer() || id.get<std::int64_t>() < 0 ||
            id.get<std::int64_t>() > std::numeric_limits<TokenId>::max()) {
            throwBadInput(fmt::format("{} = {} must be a token id or a list of them.",
                                      object.where(key), value->dump()));
        }
        ids.push_back(id.get<TokenId>());
    }
    return ids;
}

std::string architectureOf(const JsonObject& config) {
    const Json* list = config.find("architectures");
    if (list != nullptr && list->is_array() && !list->empty() && list->front().is_string()) {
        return list->front().get<std::string>();
    }
    return {};
}

/// Defaults: CLIPVisionConfig for a partial dictionary, the LLaVA-1.5 tower when there is none.
VisionConfig parseVision(const JsonObject& vision, bool absent) {
    const std::string type = vision.string("model_type", "clip_vision_model");
    if (type != "clip_vision_model") {
        refuseModelType(vision, "vision tower");
    }
    VisionConfig tower;
    tower.hidden = size(vision, "hidden_size", absent ? 1024 : 768);
    tower.intermediate = size(vision, "intermediate_size", absent ? 4096 : 3072);
    tower.layers = size(vision, "num_hidden_layers", absent ? 24 : 12);
    tower.heads = size(vision, "num_attention_heads", absent ? 16 : 12);
    tower.imageSize = size(vision, "image_size", absent ? 336 : 224);
    tower.patchSize = size(vision, "patch_size", absent ? 14 : 32);
    tower.layerNormEps = epsilon(vision, "layer_norm_eps", 1e-5);
    tower.activation = activation(vision, "hidden_act", "quick_gelu");
    if (tower.hidden % tower.heads != 0) {
        throwBadInput(fmt::format("{} = {} is not a multiple of num_attention_heads = {}.",
                                  vision.where("hidden_size"), tower.hidden, tower.heads));
    }
    if (tower.patchSize > tower.imageSize) {
        throwBadInput(fmt::format("{} = {} is larger than image_size = {}.",
                                  vision.where("patch_size"), tower.patchSize, tower.imageSize));
    }
    const std::int32_t channels = size(vision, "num_channels", 3);
    if (channels != 3) {
        throwBadInput(fmt::format("{} = {}: pictures have 3 channels here.",
                                  vision.where("num_channels"), channels));
    }
    return tower;
}

std::int32_t encoderLayersUsed(const JsonObject& config, std::int32_t layers) {
    const char* key = "vision_feature_layer";
    const Json* value = config.find(key);
    if (value != nullptr && value->is_array()) {
        throwBadInput(fmt::format("{} = {}: features of several layers are not supported yet.",
                                  config.where(key), value->dump()),
                      "Use a model that takes its features from one layer.");
    }
    const std::int64_t layer = config.integer(key, -2);
    const std::int64_t used = layer >= 0 ? layer : layers + 1 + layer; // hidden_states has L + 1
    if (used < 0 || used > layers) {
        throwBadInput(fmt::format("{} = {} does not exist in a tower of {} layers.",
                                  config.where(key), layer, layers));
    }
    return static_cast<std::int32_t>(used);
}

ProjectorConfig parseProjector(const JsonObject& config, const VisionConfig& vision) {
    ProjectorConfig projector;
    projector.activation = activation(config, "projector_hidden_act", "gelu");
    projector.bias = config.boolean("multimodal_projector_bias", true);
    projector.encoderLayersUsed = encoderLayersUsed(config, vision.layers);
    const std::string strategy = config.string("vision_feature_select_strategy", "default");
    if (strategy != "default" && strategy != "full") {
        throwBadInput(fmt::format("{} = \"{}\" is unknown.",
                                  config.where("vision_feature_select_strategy"), strategy),
                      "Known are \"default\" (without class token) and \"full\".");
    }
    projector.dropsClassToken = strategy == "default";
    return projector;
}

void requireLlava(const JsonObject& config, const std::string& architecture) {
    const std::string type = config.string("model_type", "");
    const bool named = architecture.empty() || architecture == "LlavaForConditionalGeneration";
    if (type == "llava" && named) {
        return;
    }
    throwBadInput(fmt::format("{} describes a {} (model_type \"{}\"), which is not supported yet.",
                              config.origin(),
                              architecture.empty() ? "model without `architectures`" : architecture,
                              type),
                  kSupportedModels);
}

} // namespace

ModelConfig parseModelConfig(const std::string& json, const std::string& origin) {
    const Json root = parseJson(json, origin);
    const JsonObject config(root, origin);
    ModelConfig model;
    model.architecture = architectureOf(config);
    requireLlava(config, model.architecture);
    model.family = "llava";
    model.architecture = "LlavaForConditionalGeneration";
    model.path = origin;
    model.json = json;

    const Json nothing = Json::object();
    const JsonObject absent(nothing, origin);
    const auto text = config.findObject("text_config");
    const auto vision = config.findObject("vision_config");
    model.decoder = parseDecoder(text ? *text : absent);
    model.decoder.tiedEmbeddings |= config.boolean("tie_word_embeddings", false);
    model.vision = parseVision(vision ? *vision : absent, !vision);
    model.projector = parseProjector(config, model.vision);
    const char* imageKey = config.has("image_token_index") ? "image_token_index" : "image_token_id";
    const std::int64_t image = config.integer(imageKey, 32000);
    if (image < 0 || image > std::numeric_limits<TokenId>::max()) {
        throwBadInput(fmt::format("{} = {} is not a token id.", config.where(imageKey), image));
    }
    model.imageToken = static_cast<TokenId>(image);
    model.dtype = storedDType(config);
    model.endTokens = tokenList(config, "eos_token_id");
    if (model.endTokens.empty() && text) {
        model.endTokens = tokenList(*text, "eos_token_id");
    }
    return model;
}

ModelConfig readModelConfig(const std::filesystem::path& folder) {
    if (!std::filesystem::is_directory(folder)) {
        throwBadInput(fmt::format("{} is not a folder.", folder.string()),
                      "Give the folder that holds config.json and the weights.");
    }
    const auto path = folder / "config.json";
    if (!std::filesystem::exists(path)) {
        throwBadInput(fmt::format("{} has no config.json.", folder.string()),
                      "Give the folder of a Hugging Face model.");
    }
    return parseModelConfig(readTextFile(path), path.string());
}

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
