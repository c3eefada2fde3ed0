// SPDX-License-Identifier: GPL-3.0-or-later
// Qwen2-VL (arXiv 2409.12191): pictures at their own size, 2 x 2 patches an image token, M-RoPE.
#include "model/config_values.h"
#include "model/families/qwen_vl.h"

namespace ecokv::model {

std::unique_ptr<Family> readQwen2Vl(const ConfigFile& file) {
    const Json nothing = Json::object();
    const JsonObject vision = qwenVision(file.root, nothing);
    QwenTowerConfig tower;
    tower.layers = 32;
    tower.hidden = size(vision, "embed_dim", 1280);
    tower.intermediate = static_cast<std::int32_t>(tower.hidden * vision.number("mlp_ratio", 4.0));
    tower.output = size(vision, "hidden_size", 3584);
    tower.activation = activation(vision, "hidden_act", "quick_gelu");
    readQwenTower(vision, tower);
    return makeQwenVl(file, {"qwen2_vl", "qwen2_vl_text", kQwen2PrefixRules}, std::move(tower));
}

} // namespace ecokv::model
