// SPDX-License-Identifier: GPL-3.0-or-later
// Qwen3-VL (dense): learned positions interpolated over the picture, and features of inner layers
// of the tower added to the image tokens after the first decoder layers (arXiv 2406.04334).
#include "base/error.h"
#include "model/config_values.h"
#include "model/families/qwen_vl.h"
#include "model/file_advice.h"

#include <fmt/format.h>

#include <cmath>

namespace ecokv::model {

namespace {

/// Learned positions form a square.
std::int32_t positionSide(const JsonObject& vision) {
    const char* key = "num_position_embeddings";
    const std::int32_t count = size(vision, key, 2304);
    const auto side = static_cast<std::int32_t>(std::lround(std::sqrt(count)));
    if (std::int64_t{side} * side != count) {
        throwBadInput(fmt::format("{} = {} is not a square number.", vision.where(key), count),
                      restoreAdvice(vision, key));
    }
    return side;
}

} // namespace

QwenTowerConfig readQwen3Tower(const JsonObject& vision) {
    QwenTowerConfig tower;
    tower.layers = 27;
    tower.patchSize = 16;
    tower.hidden = size(vision, "hidden_size", 1152);
    tower.intermediate = size(vision, "intermediate_size", 4304);
    tower.output = size(vision, "out_hidden_size", 3584);
    tower.activation = activation(vision, "hidden_act", "gelu_pytorch_tanh");
    tower.names = {.up = "mlp.linear_fc1",
                   .down = "mlp.linear_fc2",
                   .mergerNorm = "norm",
                   .mergerIn = "linear_fc1",
                   .mergerOut = "linear_fc2"};
    readQwenTower(vision, tower);
    tower.positionSide = positionSide(vision);
    return tower;
}

std::unique_ptr<Family> readQwen3Vl(const ConfigFile& file) {
    const Json nothing = Json::object();
    const JsonObject vision = qwenVision(file.root, nothing);
    QwenTowerConfig tower = readQwen3Tower(vision);
    tower.deepstackLayers = layerList(vision, "deepstack_visual_indexes", {8, 16, 24});
    return makeQwenVl(file, {"qwen3_vl", "qwen3_vl_text", {}}, std::move(tower));
}

} // namespace ecokv::model
