// SPDX-License-Identifier: GPL-3.0-or-later
// Qwen2.5-VL (arXiv 2502.13923): Qwen2-VL with attention in windows in most layers of its tower.
#include "base/error.h"
#include "model/config_values.h"
#include "model/families/qwen_vl.h"
#include "model/file_advice.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

/// Image tokens on a side of a window, which the file gives in pixels.
std::int32_t windowSide(const JsonObject& vision, const QwenTowerConfig& tower) {
    const std::int32_t pixels = size(vision, "window_size", 112);
    const std::int32_t side = pixels / tower.mergeSize / tower.patchSize;
    if (side < 1) {
        throwBadInput(fmt::format("{} = {} is smaller than the {} pixels of one image token.",
                                  vision.where("window_size"), pixels,
                                  tower.mergeSize * tower.patchSize),
                      restoreAdvice(vision, "window_size"));
    }
    return side;
}

} // namespace

std::unique_ptr<Family> readQwen2_5Vl(const ConfigFile& file) {
    const Json nothing = Json::object();
    const JsonObject vision = qwenVision(file.root, nothing);
    QwenTowerConfig tower;
    tower.layers = 32;
    tower.hidden = size(vision, "hidden_size", 3584);
    tower.intermediate = size(vision, "intermediate_size", 3420);
    tower.output = size(vision, "out_hidden_size", 3584);
    tower.activation = activation(vision, "hidden_act", "silu");
    tower.gated = true;
    tower.names.up = "mlp.up_proj";
    tower.names.down = "mlp.down_proj";
    readQwenTower(vision, tower);
    tower.windowSide = windowSide(vision, tower);
    tower.fullLayers = layerList(vision, "fullatt_block_indexes", {7, 15, 23, 31});
    return makeQwenVl(file, {"qwen2_5_vl", "qwen2_5_vl_text", kQwen2PrefixRules}, std::move(tower));
}

} // namespace ecokv::model
