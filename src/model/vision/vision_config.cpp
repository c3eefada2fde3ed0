// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/vision_config.h"

#include "base/error.h"
#include "model/config_values.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

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

} // namespace

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

VisionConfig parseVision(const JsonObject& config) {
    const auto vision = config.findObject("vision_config");
    if (vision && vision->string("model_type", "clip_vision_model") != "clip_vision_model") {
        refuseModelType(*vision, "vision tower", "clip_vision_model");
    }
    return parseTower(config, vision ? kClipDefaults : kLlavaTowerDefaults);
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

} // namespace ecokv::model
