// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/vision_config.h"

#include "base/error.h"
#include "model/config_values.h"
#include "model/file_advice.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

std::vector<std::int32_t> encoderLayers(const JsonObject& config, std::int32_t layers) {
    const char* key = "vision_feature_layer";
    const Json* value = config.find(key);
    std::vector<std::int32_t> used;
    if (value == nullptr || !value->is_array()) {
        used.push_back(encoderLayer(config, key, config.integer(key, -2), layers));
        return used;
    }
    for (const Json& entry : *value) {
        if (!entry.is_number_integer()) {
            throwBadInput(
                fmt::format("{} = {} must be a layer or a list of layers.", config.where(key),
                            value->dump()),
                fmt::format("For example -2, or [-2, -5]. {}", restoreAdvice(config, key)));
        }
        used.push_back(encoderLayer(config, key, entry.get<std::int64_t>(), layers));
    }
    if (used.empty()) {
        throwBadInput(fmt::format("{} names no layer.", config.where(key)),
                      fmt::format("Usual is -2. {}", restoreAdvice(config, key)));
    }
    return used;
}

} // namespace

void requireRgb(const JsonObject& vision, const char* key) {
    const std::int32_t channels = size(vision, key, 3);
    if (channels != 3) {
        throwBadInput(
            fmt::format("{} = {}: pictures have 3 channels here.", vision.where(key), channels),
            fmt::format(
                "A tower for other than RGB pictures is not supported; if this one takes RGB: {}",
                restoreAdvice(vision, key)));
    }
}

void checkTowerShape(const JsonObject& vision, const TowerShape& tower) {
    if (tower.hidden % tower.heads != 0) {
        throwBadInput(fmt::format("{} = {} is not a multiple of num_attention_heads = {}.",
                                  vision.where("hidden_size"), tower.hidden, tower.heads),
                      restoreAdvice(vision, "hidden_size"));
    }
    if (tower.patchSize > tower.imageSize) {
        throwBadInput(fmt::format("{} = {} is larger than image_size = {}.",
                                  vision.where("patch_size"), tower.patchSize, tower.imageSize),
                      restoreAdvice(vision, "patch_size"));
    }
    requireRgb(vision, "num_channels");
}

std::int32_t encoderLayer(const JsonObject& config, const char* key, std::int64_t index,
                          std::int32_t layers) {
    const std::int64_t used = index >= 0 ? index : layers + 1 + index; // hidden_states has L + 1
    if (used < 0 || used > layers) {
        throwBadInput(fmt::format("{} = {} does not exist in a tower of {} layers.",
                                  config.where(key), index, layers),
                      fmt::format("Layers count from 0 to that number, or from -1 backwards. {}",
                                  restoreAdvice(config, key)));
    }
    return static_cast<std::int32_t>(used);
}

bool dropsFirstToken(const JsonObject& config) {
    const char* key = "vision_feature_select_strategy";
    const std::string strategy = config.string(key, "default");
    if (strategy != "default" && strategy != "full") {
        throwBadInput(fmt::format("{} = \"{}\" is unknown.", config.where(key), strategy),
                      "Known are \"default\" (without class token) and \"full\".");
    }
    return strategy == "default";
}

VisionConfig parseTower(const JsonObject& config, const VisionDefaults& defaults) {
    const Json nothing = Json::object();
    const auto given = config.findObject("vision_config");
    const JsonObject vision = given ? *given : JsonObject(nothing, config.origin());
    VisionConfig tower;
    tower.hidden = size(vision, "hidden_size", defaults.hidden);
    tower.intermediate = size(vision, "intermediate_size", defaults.intermediate);
    tower.layers = size(vision, "num_hidden_layers", defaults.layers);
    tower.heads = size(vision, "num_attention_heads", defaults.heads);
    tower.imageSize = size(vision, "image_size", defaults.imageSize);
    tower.patchSize = size(vision, "patch_size", defaults.patchSize);
    tower.layerNormEps = epsilon(vision, "layer_norm_eps", defaults.layerNormEps);
    tower.activation = activation(vision, "hidden_act", defaults.activation);
    checkTowerShape(vision, {tower.hidden, tower.heads, tower.imageSize, tower.patchSize});
    return tower;
}

VisionConfig parseVision(const JsonObject& config) {
    const auto vision = config.findObject("vision_config");
    if (!vision) {
        return parseTower(config, kLlavaTowerDefaults);
    }
    const std::string type = vision->string("model_type", "clip_vision_model");
    const bool isSiglip = type == "siglip_vision_model";
    if (!isSiglip && type != "clip_vision_model") {
        refuseModelType(*vision, "vision tower", "clip_vision_model, siglip_vision_model");
    }
    VisionConfig tower = parseTower(config, isSiglip ? kSiglipDefaults : kClipDefaults);
    tower.isSiglip = isSiglip;
    return tower;
}

ProjectorConfig parseProjector(const JsonObject& config, const VisionConfig& vision) {
    ProjectorConfig projector;
    projector.activation = activation(config, "projector_hidden_act", "gelu");
    projector.bias = config.boolean("multimodal_projector_bias", true);
    projector.encoderLayers = encoderLayers(config, vision.layers);
    projector.dropsFirstToken = dropsFirstToken(config);
    return projector;
}

} // namespace ecokv::model
